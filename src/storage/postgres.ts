import pg, { type Pool } from 'pg'
import type { Durability } from '../core/durability.ts'
import type { ChunkStore } from '../ports/chunk-store.ts'
import type { Clock } from '../ports/clock.ts'
import type { Database, Transact } from './database/database.ts'
import { POSTGRES } from './database/dialect.ts'
import { faultOf, toStorageError } from './database/faults.ts'
import { groupCommit } from './database/group-commit.ts'
import {
  clientConfig,
  newPostgresConnection,
  type PostgresConnection,
  postgresExecutor,
} from './database/postgres-connection.ts'
import { CHANNEL, newPostgresNotifications } from './database/postgres-notifications.ts'
import { MIGRATIONS } from './migrations/all.ts'
import { migratePostgres } from './migrations/migrate.ts'
import type { Migration } from './migrations/migration.ts'
import { chunkStore } from './runs/chunks.ts'
import { assembleStore, type OpenedStore } from './store.ts'

type PostgresOptions = {
  url: string
  clock: Clock
  durability: Durability
  migrations?: readonly Migration[]
}

const READ_CONNECTIONS = 4

export async function openPostgresStore(options: PostgresOptions): Promise<OpenedStore> {
  const { url, clock, durability } = options
  const location = describeServer(url)
  await migrate(options, location)

  const synchronous = durability === 'strict' ? 'on' : 'off'
  const writer = newPostgresConnection({ url, location, settings: `set synchronous_commit = ${synchronous}` })
  const pool = new pg.Pool({ ...clientConfig(url), max: READ_CONNECTIONS, allowExitOnIdle: true })
  // A broken idle connection is replaced; without a listener the error would end the process.
  pool.on('error', () => {})
  // The same for a connection that is checked out between two queries: its next query fails.
  pool.on('connect', (client) => client.on('error', () => {}))
  const chunks = postgresChunks({ url, location, pool })
  const notifications = newPostgresNotifications({
    url,
    clock,
    isOwnBackend: (processId) => processId === writer.processId(),
  })
  const commits = groupCommit({
    transact: writer.transact,
    soon: clock.soon,
    announce: () => writer.send(`notify ${CHANNEL}`),
  })
  const database: Database = {
    dialect: POSTGRES,
    write: commits.write,
    read: readFrom(pool, location),
    readSnapshot: readSnapshotFrom(pool, location),
  }

  let isClosed = false
  return assembleStore({
    database,
    chunks,
    clock,
    ownership: 'peer',
    onForeignWrite: notifications.listen,
    async close() {
      if (isClosed) return
      isClosed = true
      await notifications.close()
      await commits.close()
      await writer.close()
      await pool.end()
    },
  })
}

async function migrate({ url, clock, migrations }: PostgresOptions, location: string): Promise<void> {
  const client = new pg.Client(clientConfig(url))
  client.on('error', () => {
    // The running query fails with the same error.
  })
  try {
    await client.connect()
    await migratePostgres(client, { track: 'store', migrations: migrations ?? MIGRATIONS.store, clock, location })
    await migratePostgres(client, { track: 'chunks', migrations: MIGRATIONS.chunks, clock, location })
  } catch (error) {
    throw toStorageError(error, location)
  } finally {
    await client.end()
  }
}

/** A separate connection: streams must not wait for the fsync of the event log, nor the event log for streams. */
function postgresChunks({ url, location, pool }: { url: string; location: string; pool: Pool }): ChunkStore {
  const connection: PostgresConnection = newPostgresConnection({
    url,
    location,
    settings: 'set synchronous_commit = off',
  })
  return chunkStore({
    transact: connection.transact,
    read: readFrom(pool, location),
    // A crash of the server empties the unlogged tables completely, which the missing sentinel head shows.
    bootId: '',
    close: connection.close,
  })
}

function readFrom(pool: Pool, location: string): Database['read'] {
  const executor = postgresExecutor(pool)
  return async (work) => {
    try {
      try {
        return await work(executor)
      } catch (error) {
        if (faultOf(error) !== 'unreachable') throw error
        // The pooled connection may have died unnoticed: a second attempt shows whether the server is unreachable.
        return await work(executor)
      }
    } catch (error) {
      throw toStorageError(error, location)
    }
  }
}

function readSnapshotFrom(pool: Pool, location: string): Transact {
  return async (work) => {
    try {
      const client = await pool.connect()
      try {
        await client.query('begin isolation level repeatable read read only')
        const answer = await work(postgresExecutor(client))
        await client.query('commit')
        client.release()
        return answer
      } catch (error) {
        client.release(true)
        throw error
      }
    } catch (error) {
      throw toStorageError(error, location)
    }
  }
}

/** For error messages; omits the password. */
function describeServer(url: string): string {
  const { host, pathname } = new URL(url)
  return `PostgreSQL at ${host}${pathname}`
}
