import { sql } from 'kysely'
import { defined } from '../../core/defined.ts'
import type { RunCounts } from '../../ports/store.ts'
import { type Executor, statement } from '../database/statement.ts'

/** Counts runs that have not ended. Each count uses its own small index. */
export async function countActiveRuns(db: Executor): Promise<RunCounts> {
  const queue = await db.get(queued, {})
  const going = await db.get(running, {})
  const asking = await db.get(waiting, {})
  return {
    queued: Number(queue?.count ?? 0),
    running: Number(going?.count ?? 0),
    waiting: Number(asking?.count ?? 0),
    ...defined({
      oldestQueuedAt: queue?.oldest === null || queue?.oldest === undefined ? undefined : Number(queue.oldest),
    }),
  }
}

const queued = statement<Record<never, never>>()((db) =>
  db
    .selectFrom('runs')
    .select([sql<number>`count(*)`.as('count'), sql<number | null>`min(created_at)`.as('oldest')])
    .where('status', '=', sql.lit('created')),
)

const running = statement<Record<never, never>>()((db) =>
  db.selectFrom('runs').select(sql<number>`count(*)`.as('count')).where('status', '=', sql.lit('running')),
)

const waiting = statement<Record<never, never>>()((db) =>
  db.selectFrom('runs').select(sql<number>`count(*)`.as('count')).where('waiting', '=', sql.lit(1)),
)
