import { AsyncLocalStorage } from 'node:async_hooks'
import type { AuditEntry, AuditId, AuditTicket } from '../../core/audit.ts'
import { defined } from '../../core/defined.ts'
import type { Database, Job } from '../database/database.ts'
import type { Awaitable, Executor, Statement } from '../database/statement.ts'

/*
 * Many verbs change something, through many wrappers of the store. The ticket of an audited action therefore travels
 * with its asynchronous context: a write that begins inside of it carries the entry, and a verb cannot forget it.
 */
const tickets = new AsyncLocalStorage<AuditTicket>()

export const withTicket = <T>(ticket: AuditTicket, work: () => Promise<T>): Promise<T> => tickets.run(ticket, work)

type EntryWriter = {
  insertEntry(db: Executor, entry: AuditEntry): Promise<void>
  hasEntry(db: Executor, id: AuditId): Promise<boolean>
}

/** The first transaction of an audited action that changes a row has its entry, or neither is written. */
export function withAuditedWrites(database: Database, { insertEntry, hasEntry }: EntryWriter): Database {
  async function writeWithEntry<T>(ticket: AuditTicket, job: Job<T>): Promise<T> {
    const { entry } = ticket
    const { findCommitted } = job
    let isWritten = false
    ticket.state = 'taken'
    try {
      return await database.write({
        ...job,
        async work(db) {
          isWritten = false
          const counted = countChanges(db, database)
          const result = await job.work(counted.db)
          if (counted.hasChanged()) {
            await insertEntry(db, entry)
            isWritten = true
          }
          return result
        },
        ...defined({
          findCommitted:
            findCommitted &&
            (async (db: Executor) => {
              isWritten = await hasEntry(db, entry.id)
              return findCommitted(db)
            }),
        }),
      })
    } catch (fault) {
      isWritten = false
      throw fault
    } finally {
      ticket.state = isWritten ? 'written' : 'open'
    }
  }
  return {
    ...database,
    write(job) {
      const ticket = tickets.getStore()
      return ticket?.state === 'open' ? writeWithEntry(ticket, job) : database.write(job)
    },
  }
}

function countChanges(db: Executor, { dialect }: Database): { db: Executor; hasChanged(): boolean } {
  let changes = 0
  const isRead = (statement: Statement<never, unknown>) => /^\s*select\b/i.test(statement.compileFor(dialect).sql)
  const noting = <T>(answer: Awaitable<T>, amountOf: (answer: T) => number): Awaitable<T> => {
    if (!(answer instanceof Promise)) {
      changes += amountOf(answer)
      return answer
    }
    return answer.then((value) => {
      changes += amountOf(value)
      return value
    })
  }
  return {
    hasChanged: () => changes > 0,
    db: {
      ...db,
      run: (statement, values) => noting(db.run(statement, values), (rows) => rows),
      // With `returning`, a change comes back as rows.
      get: (statement, values) =>
        noting(db.get(statement, values), (row) => (row === undefined || isRead(statement as never) ? 0 : 1)),
      all: (statement, values) =>
        noting(db.all(statement, values), (rows) => (isRead(statement as never) ? 0 : rows.length)),
    },
  }
}
