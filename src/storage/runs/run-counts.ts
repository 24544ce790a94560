import { sql } from 'kysely'
import { defined } from '../../core/defined.ts'
import type { OrganizationId, RunId } from '../../core/id.ts'
import type { OwnRunCounts, RunCounts } from '../../ports/store.ts'
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

/** Of one organization; `retrying` are running ones whose last event is a failed attempt. */
export async function countRunsOf(db: Executor, organization: OrganizationId): Promise<OwnRunCounts> {
  const [queuedRuns, runningRuns, waitingRuns] = [
    await db.get(queuedOf, { organization }),
    await db.get(runningOf, { organization }),
    await db.get(waitingOf, { organization }),
  ]
  const retries = (await db.all(lastFailures, { organization })).map(retryOf)
  return {
    queued: Number(queuedRuns?.count ?? 0),
    running: Number(runningRuns?.count ?? 0),
    waiting: Number(waitingRuns?.count ?? 0),
    retrying: retries,
  }
}

function retryOf({ id, body }: { id: RunId; body: string }): OwnRunCounts['retrying'][number] {
  const { retryAt } = JSON.parse(body) as { retryAt: number }
  return { id, retryAt }
}

type Owned = { organization: OrganizationId }

const queuedOf = statement<Owned>()((db, p) =>
  db
    .selectFrom('runs')
    .select(sql<number>`count(*)`.as('count'))
    .where('status', '=', sql.lit('created'))
    .where('organization_id', '=', p('organization')),
)

const runningOf = statement<Owned>()((db, p) =>
  db
    .selectFrom('runs')
    .select(sql<number>`count(*)`.as('count'))
    .where('status', '=', sql.lit('running'))
    .where('organization_id', '=', p('organization')),
)

const waitingOf = statement<Owned>()((db, p) =>
  db
    .selectFrom('runs')
    .select(sql<number>`count(*)`.as('count'))
    .where('waiting', '=', sql.lit(1))
    .where('organization_id', '=', p('organization')),
)

const lastFailures = statement<Owned>()((db, p) =>
  db
    .selectFrom('runs')
    .innerJoin('events', (join) =>
      join.onRef('events.run_number', '=', 'runs.number').on(sql<boolean>`events.seq = runs.next_seq - 1`),
    )
    .select(['runs.id', 'events.body'])
    .where('runs.status', '=', sql.lit('running'))
    .where('runs.organization_id', '=', p('organization'))
    .where('events.type', '=', 'attempt-failed'),
)
