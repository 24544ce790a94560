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
  const truths = new Set<DatabaseSync>()
  const prepare = DatabaseSync.prototype.prepare
  DatabaseSync.prototype.prepare = function (this: DatabaseSync, sql: string) {
    const statement = prepare.call(this, sql)
    const file = this.location() ?? ''
    if (file.endsWith('holdfast.db')) truths.add(this)
    return file.endsWith('chunks.db') && isWrite(sql) ? trapRun(statement, trap) : statement
  }
  tapPostgres(trap)
  return {
    fill() {
      for (const database of truths) {
        const { page_count: pages } = database.prepare('pragma page_count').get() as { page_count: number }
        database.exec(`pragma max_page_count = ${pages}`)
      }
    },
    makeRoom() {
      for (const database of truths) database.exec(`pragma max_page_count = ${NO_LIMIT}`)
    },
  }
}

/** Statements that make chunks durable: a commit, or a single statement outside a transaction. */
const isWrite = (sql: string): boolean => sql === 'commit' || /^insert into "chunks".* select /s.test(sql)

function trapRun(statement: StatementSync, trap: Trap): StatementSync {
  const run = statement.run.bind(statement) as (...values: SQLInputValue[]) => ReturnType<StatementSync['run']>
  statement.run = ((...values: SQLInputValue[]) => {
    const crossing = trap.enter('chunks.append')
    const answer = run(...values)
    crossing.leave()
    return answer
  }) as StatementSync['run']
  return statement
}

/** On PostgreSQL the insert itself, inside its transaction. */
function tapPostgres(trap: Trap): void {
  const client = pg.Client.prototype as unknown as { query(query: unknown, ...rest: unknown[]): unknown }
  const query = client.query
  client.query = function (this: unknown, asked: unknown, ...rest: unknown[]) {
    const answer = () => query.call(this, asked, ...rest)
    const text = (asked as { text?: string } | null)?.text
    if (!text?.startsWith('insert into "chunks"')) return answer()
    return trap.around('chunks.append', async () => answer())
  }
}
