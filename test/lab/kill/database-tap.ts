import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import pg from 'pg'
import type { Trap } from './kill-point.ts'

/**
 * The app does not expose its chunk store or its connections, so this wraps the drivers below it, `node:sqlite` and
 * `pg`, inside the worker process.
 */
export type DatabaseTap = {
  /** Simulates a full disk: the database cannot grow by a page. */
  fill(): void
  makeRoom(): void
}

const NO_LIMIT = 1_000_000_000

export function tapDatabases(trap: Trap): DatabaseTap {
  const mainDatabases = new Set<DatabaseSync>()
  const prepare = DatabaseSync.prototype.prepare
  DatabaseSync.prototype.prepare = function (this: DatabaseSync, sql: string) {
    const statement = prepare.call(this, sql)
    const file = this.location() ?? ''
    if (file.endsWith('holdfast.db')) mainDatabases.add(this)
    return file.endsWith('chunks.db') && isWrite(sql) ? trapRun(statement, trap) : statement
  }
  tapPostgres(trap)
  return {
    fill() {
      for (const database of mainDatabases) {
        const { page_count: pages } = database.prepare('pragma page_count').get() as { page_count: number }
        database.exec(`pragma max_page_count = ${pages}`)
      }
    },
    makeRoom() {
      for (const database of mainDatabases) database.exec(`pragma max_page_count = ${NO_LIMIT}`)
    },
  }
}

/** Statements that make chunks durable: a commit, or a single statement outside a transaction. */
const isWrite = (sql: string): boolean => sql === 'commit' || /^insert into "chunks".* select /s.test(sql)

function trapRun(statement: StatementSync, trap: Trap): StatementSync {
  const run = statement.run.bind(statement) as (...values: SQLInputValue[]) => ReturnType<StatementSync['run']>
  statement.run = ((...values: SQLInputValue[]) => {
    const crossing = trap.enter('chunks.append')
    const result = run(...values)
    crossing.leave()
    return result
  }) as StatementSync['run']
  return statement
}

/** On PostgreSQL, traps the insert itself, inside its transaction. */
function tapPostgres(trap: Trap): void {
  const client = pg.Client.prototype as unknown as { query(query: unknown, ...rest: unknown[]): unknown }
  const query = client.query
  client.query = function (this: unknown, statement: unknown, ...rest: unknown[]) {
    const run = () => query.call(this, statement, ...rest)
    const text = (statement as { text?: string } | null)?.text
    if (!text?.startsWith('insert into "chunks"')) return run()
    return trap.around('chunks.append', async () => run())
  }
}
