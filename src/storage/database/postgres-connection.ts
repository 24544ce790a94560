import pg, { type Client, type ClientBase, type ClientConfig } from 'pg'
import { cleanText } from '../../core/block.ts'
import { newMutex } from '../../core/mutex.ts'
import type { Value } from '../rows/row-mapping.ts'
import type { Transact } from './database.ts'
import { POSTGRES } from './dialect.ts'
import { faultOf, isRetryable, storageError, toStorageError } from './faults.ts'
import { queryPage } from './postgres-page.ts'
import type { Executor, Statement, Values } from './statement.ts'

/** Query timeout after which the connection counts as lost. */
const ANSWER_TIMEOUT_MS = 30_000
const CONNECT_TIMEOUT_MS = 5_000
/**
 * A process that is paused or cut off in a transaction must not keep its rows locked, because other workers could not
 * take over its runs. Half a lease, so that the rows are free when the lease expires.
 */
const IDLE_TRANSACTION_MS = 5_000
/** Attempts at a transaction that meets deadlocks or serialization failures; these pass once the other one has ended. */
const MAX_ATTEMPTS = 5

const INT8 = 20

export const clientConfig = (url: string): ClientConfig => ({
  connectionString: url,
  connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  query_timeout: ANSWER_TIMEOUT_MS,
  keepAlive: true,
  application_name: 'holdfast',
  // Parse bigint as number: times and counts fit.
  types: {
    getTypeParser: ((oid: number, format: 'text') =>
      oid === INT8 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
  },
})

/** A connection that runs transactions one at a time and reconnects after a loss. */
export type PostgresConnection = {
  transact: Transact
  /** Sends without waiting; a failure is ignored. */
  send(sql: string): void
  /** Backend process id of this connection. */
  processId(): number | undefined
  close(): Promise<void>
}

type PostgresConnectionOptions = { url: string; location: string; settings: string }

export function newPostgresConnection({ url, location, settings }: PostgresConnectionOptions): PostgresConnection {
  const withLock = newMutex()
  let current: { client: Client; processId: number } | undefined
  let sent: Promise<unknown> = Promise.resolve()

  async function connect() {
    const client = new pg.Client(clientConfig(url))
    // Without a listener a broken connection would end the process; the next query reports the error.
    client.on('error', () => drop(client))
    client.on('end', () => drop(client))
    await client.connect()
    const idleTimeout = `set idle_in_transaction_session_timeout = ${IDLE_TRANSACTION_MS}`
    const { rows } = await client.query(`${settings}; ${idleTimeout}; select pg_backend_pid() as id`).then(lastResult)
    current = { client, processId: rows[0].id }
    return current
  }

  function drop(client: Client): void {
    if (current?.client !== client) return
    current = undefined
    client.end().catch(() => {
      // Already closed.
    })
  }

  /** An idle connection may have died unnoticed; only a failure on a fresh one shows that the server is unreachable. */
  async function transactOnce<T>(work: (db: Executor) => T | Promise<T>, mayReconnect: boolean): Promise<T> {
    const wasIdle = current !== undefined
    let isCommitting = false
    let client: Client | undefined
    try {
      client = (current ?? (await connect())).client
      await client.query('begin')
      const answer = await work(postgresExecutor(client))
      isCommitting = true
      const { command } = await client.query('commit')
      if (command !== 'COMMIT') throw new Error('the server rolled back the transaction without reporting an error')
      return answer
    } catch (error) {
      const isLost = faultOf(error) === 'unreachable'
      if (!isLost) {
        if (client) await rollBack(client)
        throw error
      }
      if (client) drop(client)
      if (isCommitting) throw storageError('outcome-unknown', location, error)
      if (wasIdle && mayReconnect) return transactOnce(work, false)
      throw error
    }
  }

  async function rollBack(client: Client): Promise<void> {
    try {
      await client.query('rollback')
    } catch {
      // A connection that cannot roll back is dropped, which makes the server roll back.
      drop(client)
    }
  }

  const transact: Transact = (work) =>
    withLock(async () => {
      for (let attempt = 1; ; attempt++) {
        try {
          return await transactOnce(work, true)
        } catch (error) {
          if (isRetryable(error) && attempt < MAX_ATTEMPTS) continue
          throw toStorageError(error, location)
        }
      }
    })

  return {
    transact,
    send(sql) {
      const client = current?.client
      if (!client) return
      sent = client.query(sql).catch(() => {
        // Only a wake-up signal: a process that misses it polls anyway.
      })
    },
    processId: () => current?.processId,
    close: () =>
      withLock(async () => {
        await sent
        const open = current
        current = undefined
        await open?.client.end()
      }),
  }
}

/** `pg` returns a list for several statements in one query, which its types do not express. */
function lastResult<T>(results: T): T {
  return Array.isArray(results) ? results.at(-1) : results
}

/** PostgreSQL text cannot hold NUL. Input of callers is cleaned earlier, but output of providers and tools is not. */
const withoutNul = (value: Value): Value => (typeof value === 'string' ? cleanText(value) : value)

/** Prepared statements: the server parses each one once per connection, named by its slot. */
export function postgresExecutor(client: Pick<ClientBase, 'query'>): Executor {
  function queryOf<V extends Values, Row>(statement: Statement<V, Row>, values: V) {
    const { sql, bind } = statement.compileFor(POSTGRES)
    const query = { text: sql, values: bind(values).map(withoutNul) }
    if (statement.isPlannedEachTime) return query
    return { name: `holdfast_${statement.slot}`, text: query.text, values: query.values }
  }
  const query = async <V extends Values, Row>(statement: Statement<V, Row>, values: V) =>
    client.query(queryOf(statement, values))
  return {
    get: async <V extends Values, Row>(statement: Statement<V, Row>, values: V) =>
      (await query(statement, values)).rows[0] as Row | undefined,
    all: async <V extends Values, Row>(statement: Statement<V, Row>, values: V) =>
      (await query(statement, values)).rows as Row[],
    rows: async (statement, values) =>
      (await client.query<Value[]>({ ...queryOf(statement, values), rowMode: 'array' })).rows,
    page: <V extends Values, Row>(statement: Statement<V, Row>, values: V) =>
      queryPage<Row>(client, queryOf(statement, values)),
    pageRows: <V extends Values, Row>(statement: Statement<V, Row>, values: V) =>
      queryPage<Value[]>(client, { ...queryOf(statement, values), rowMode: 'array' }),
    run: async (statement, values) => (await query(statement, values)).rowCount ?? 0,
  }
}
