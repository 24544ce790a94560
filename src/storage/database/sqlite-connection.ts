import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { newMutex } from '../../core/mutex.ts'
import type { Value } from '../rows/row-mapping.ts'
import type { Transact, Work } from './database.ts'
import { SQLITE } from './dialect.ts'
import { toStorageError } from './faults.ts'
import { upToPageBytes } from './page-bytes.ts'
import type { Awaitable, Compiled, Executor, Statement, Values } from './statement.ts'

export type SqliteConnection = {
  database: DatabaseSync
  /** Name of the database in error messages. */
  location: string
  transact: Transact
  /** Reads in one transaction that takes no write lock. */
  readSnapshot: Transact
  /** Runs work outside any transaction, after open transactions of this connection have ended. */
  exclusively<T>(work: Work<T>): Promise<T>
  /** Runs one statement synchronously; `busy` while a transaction is open. */
  runSync<T>(work: (db: Executor) => T): T | 'busy'
  /** Direct access, without the mutex. */
  executor: Executor
  /** Stores on this connection, notified of each other's writes. */
  listeners: Set<() => void>
}

const connections = new WeakMap<DatabaseSync, SqliteConnection>()

/** One per open database, shared by all its stores, so that their transactions do not interleave. */
export function sqliteConnection(database: DatabaseSync, location: string): SqliteConnection {
  const known = connections.get(database)
  if (known) return known
  const connection = connect(database, location)
  connections.set(database, connection)
  return connection
}

function connect(database: DatabaseSync, location: string): SqliteConnection {
  const executor = sqliteExecutor(database)
  const beginWriting = database.prepare('begin immediate')
  const beginReading = database.prepare('begin')
  const commit = database.prepare('commit')
  const rollback = database.prepare('rollback')
  const withLock = newMutex()

  const transactFrom = <T>(begin: StatementSync, work: Work<T>) =>
    withLock(async () => {
      try {
        begin.run()
        const answer = await work(executor)
        commit.run()
        return answer
      } catch (error) {
        // SQLite rolls back by itself after some faults, for example a full disk.
        if (database.isTransaction) rollback.run()
        throw toStorageError(error, location)
      }
    })

  const exclusively = <T>(work: Work<T>) =>
    withLock(async () => {
      try {
        return await work(executor)
      } catch (error) {
        throw toStorageError(error, location)
      }
    })

  function runSync<T>(work: (db: Executor) => T): T | 'busy' {
    try {
      return database.isTransaction ? 'busy' : work(executor)
    } catch (error) {
      throw toStorageError(error, location)
    }
  }

  const transact: Transact = (work) => transactFrom(beginWriting, work)
  const readSnapshot: Transact = (work) => transactFrom(beginReading, work)
  return { database, location, transact, readSnapshot, exclusively, runSync, executor, listeners: new Set() }
}

/**
 * Reads committed rows, preferably on the writer, whose page cache is warm: a second connection reads pages again after
 * every commit (measured: four times the cost). A statement runs synchronously, so it only has to avoid open
 * transactions.
 */
export function readCommitted(writer: SqliteConnection, reader: SqliteConnection): Transact {
  const free = ({ database, executor }: SqliteConnection) => (database.isTransaction ? undefined : executor)
  function run<T>(work: Work<T>): Awaitable<T> {
    const db = free(writer) ?? free(reader)
    return db ? work(db) : reader.exclusively(work)
  }
  const executor: Executor = {
    get: (query, values) => run((db) => db.get(query, values)),
    all: (query, values) => run((db) => db.all(query, values)),
    rows: (query, values) => run((db) => db.rows(query, values)),
    page: (query, values) => run((db) => db.page(query, values)),
    pageRows: (query, values) => run((db) => db.pageRows(query, values)),
    // The reader is read-only and refuses writes.
    run: (query, values) => reader.exclusively((db) => db.run(query, values)),
  }
  return async (work) => {
    try {
      return await work(executor)
    } catch (error) {
      throw toStorageError(error, reader.location)
    }
  }
}

function sqliteExecutor(database: DatabaseSync): Executor {
  const prepared: ({ compiled: Compiled; statement: StatementSync } | undefined)[] = []

  function prepare(statement: Statement<never, unknown>) {
    const known = prepared[statement.slot]
    if (known) return known
    const compiled = statement.compileFor(SQLITE)
    const fresh = { compiled, statement: database.prepare(compiled.sql) }
    prepared[statement.slot] = fresh
    return fresh
  }

  return {
    get<V extends Values, Row>(query: Statement<V, Row>, values: V) {
      const { compiled, statement } = prepare(query)
      return statement.get(...compiled.bind(values)) as Row | undefined
    },
    all<V extends Values, Row>(query: Statement<V, Row>, values: V) {
      const { compiled, statement } = prepare(query)
      return statement.all(...compiled.bind(values)) as Row[]
    },
    rows(query, values) {
      const { compiled, statement } = prepare(query)
      // Each statement is always read in the same mode, so this is not reset.
      statement.setReturnArrays(true)
      return statement.all(...compiled.bind(values)) as unknown as Value[][]
    },
    page<V extends Values, Row>(query: Statement<V, Row>, values: V) {
      const { compiled, statement } = prepare(query)
      return upToPageBytes(statement.iterate(...compiled.bind(values)) as Iterable<Row>)
    },
    pageRows(query, values) {
      const { compiled, statement } = prepare(query)
      statement.setReturnArrays(true)
      return upToPageBytes(statement.iterate(...compiled.bind(values)) as unknown as Iterable<Value[]>)
    },
    run(query, values) {
      const { compiled, statement } = prepare(query)
      return Number(statement.run(...compiled.bind(values)).changes)
    },
  }
}
