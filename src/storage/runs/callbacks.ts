import { type SqlBool, sql } from 'kysely'
import type { RunId } from '../../core/id.ts'
import type { CallbackStore, ClaimedCallback } from '../../ports/callback-store.ts'
import type { AddressTrust } from '../../ports/safe-fetch.ts'
import type { Database } from '../database/database.ts'
import { type Executor, statement } from '../database/statement.ts'
import { RUN_COLUMNS, runOf } from '../rows/run-row.ts'

/** Sorts after all other jobs of a commit: it skips locked rows, and locks none that another job may wait for. */
const LAST = '~'

export function callbackStore({ read, write }: Database): CallbackStore {
  return {
    nextDue: () => read(async (db) => (await db.get(firstDue, {}))?.due ?? undefined),

    claim: (now, leaseMs) =>
      write({
        key: LAST,
        work: (db) => claimDue(db, now, leaseMs),
        // A claim of unknown outcome is retried when its lease expires.
        findCommitted: () => undefined,
      }),

    record: (runId, tries, { sentAt, statusCode, error, dueAt }) =>
      write({
        key: runId,
        work: async (db) => {
          const outcome = { sentAt: sentAt ?? null, status: statusCode ?? null, error: error ?? null }
          return (await db.run(keepOutcome, { id: runId, tries, ...outcome, due: dueAt ?? null })) > 0
        },
        // Recording the same outcome again is harmless.
        findCommitted: () => undefined,
      }),
  }
}

async function claimDue(db: Executor, now: number, leaseMs: number): Promise<ClaimedCallback | undefined> {
  const row = await db.get(claim, { now, until: now + leaseMs })
  if (!row) return undefined
  const run = runOf(row)
  return { run, url: row.callback_url!, trust: row.callback_reach as AddressTrust, tries: row.callback_tries }
}

/** Must match the condition of the partial index, or SQLite would not use it. */
const IS_OPEN = sql<SqlBool>`callback_due_at is not null and status in ('completed', 'failed', 'cancelled')`

const firstDue = statement<Record<never, never>>()((db) =>
  db.selectFrom('runs').select('callback_due_at as due').where(IS_OPEN).orderBy('callback_due_at').limit(sql.lit(1)),
)

const claim = statement<{ now: number; until: number }>()((db, p, { lockOrSkip }) =>
  db
    .updateTable('runs')
    .set({ callback_due_at: p('until'), callback_tries: sql`callback_tries + 1` })
    .where('number', '=', () =>
      lockOrSkip(
        db
          .selectFrom('runs')
          .select('number')
          .where(IS_OPEN)
          .where('callback_due_at', '<=', p('now'))
          .orderBy('callback_due_at')
          .limit(sql.lit(1)),
      ),
    )
    .returning([...RUN_COLUMNS, 'callback_reach', 'callback_tries']),
)

const keepOutcome = statement<{
  id: RunId
  tries: number
  sentAt: number | null
  status: number | null
  error: string | null
  due: number | null
}>()((db, p) =>
  db
    .updateTable('runs')
    .set({
      callback_sent_at: p('sentAt'),
      callback_status_code: p('status'),
      callback_error: p('error'),
      callback_due_at: p('due'),
    })
    .where('id', '=', p('id'))
    .where('callback_tries', '=', p('tries'))
    .where('callback_due_at', 'is not', null),
)
