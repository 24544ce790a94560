import { type SqlBool, sql } from 'kysely'
import type { OrganizationId, RunId, WorkerId } from '../../core/id.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Claim, OrganizationTurns, RunStore } from '../../ports/store.ts'
import type { Database, Job } from '../database/database.ts'
import { type Executor, statement } from '../database/statement.ts'
import { RUN_COLUMNS, type RunRow, runOf } from '../rows/run-row.ts'
import { readEvents, writeEntries } from './events.ts'
import { leaseNow } from './workers.ts'

/** Sorts after all other jobs of a commit, so that a run opened in it can be claimed. */
const LAST = '~'

/** Chunk numbers that may be assigned between two writes of the run row. */
const CHUNK_STRIDE = 10_000

type RunClaims = Pick<RunStore, 'claimNext' | 'takeOver' | 'heldBy' | 'handBack' | 'raiseChunkBound'>

export function runClaims({ read, write }: Database, clock: Clock): RunClaims {
  return {
    claimNext: (workerId, turns = ALL_EQUAL) => {
      const { work, ...job } = newClaimJob(workerId, (db) => claimFairly(db, { workerId, turns, at: clock.now() }))
      return write<Claim | 'blocked' | undefined>({
        ...job,
        work: async (db) => (await work(db)) ?? ((await db.get(anyQueued, {})) ? 'blocked' : undefined),
      })
    },

    takeOver: (workerId, options) =>
      write(newClaimJob(workerId, (db) => takeOver(db, workerId, { ...options, now: leaseNow(clock) }))),

    heldBy: (workerId) => read((db) => db.all(held, { worker: workerId })),

    handBack: (runId, fence) =>
      write({
        key: runId,
        work: async (db) => (await db.run(release, { id: runId, fence })) > 0,
        findCommitted: () => undefined,
        announce: true,
      }).then(() => undefined),

    raiseChunkBound: (runId, fence) =>
      write({
        key: runId,
        work: async (db) => (await db.get(raise, { id: runId, fence }))?.chunk_bound,
        // Raising it twice is harmless: numbers are skipped only after a loss.
        findCommitted: () => undefined,
      }),
  }
}

/** A claim of unknown outcome must be found, or its run would belong to a worker that does not know of it. */
function newClaimJob(workerId: WorkerId, take: (db: Executor) => unknown): Job<Claim | undefined> {
  let taken: RunRow | undefined
  return {
    key: LAST,
    async work(db) {
      taken = (await take(db)) as RunRow | undefined
      return taken && claimOf(db, taken)
    },
    async findCommitted(db) {
      const row = taken && (await db.get(lockHeld, { id: taken.id, fence: taken.fence, worker: workerId }))
      return row && claimOf(db, row)
    },
  }
}

const claimOf = async (db: Executor, row: RunRow): Promise<Claim> => ({
  run: runOf(row),
  events: await readEvents(db, row.id, 0),
})

const ALL_EQUAL: OrganizationTurns = { full: new Set(), served: [] }

type FairClaim = { workerId: WorkerId; turns: OrganizationTurns; at: number }

/** Each organization with queued runs gets its turn, however many runs the others have queued. */
async function claimFairly(db: Executor, { workerId: worker, turns, at }: FairClaim): Promise<RunRow | undefined> {
  const waiting = (await db.all(queuedOrganizations, {})).map(({ id }) => id)
  const candidates = waiting.filter((id) => !turns.full.has(id))
  // With one candidate there is nothing to compare.
  const running = candidates.length > 1 ? await db.all(runningByOrganization, {}) : []
  for (const organization of inTurn(candidates, running, turns.served)) {
    const row = await db.get(claim, { organization, worker, at })
    if (row) return row
  }
  return undefined
}

type RunningCount = { organization_id: OrganizationId; count: number }

function inTurn(
  candidates: readonly OrganizationId[],
  running: readonly RunningCount[],
  served: readonly OrganizationId[],
): OrganizationId[] {
  const counts = new Map(running.map(({ organization_id, count }) => [organization_id, Number(count)]))
  const ranks = new Map(served.map((id, index) => [id, index]))
  const countOf = (id: OrganizationId) => counts.get(id) ?? 0
  const rankOf = (id: OrganizationId) => ranks.get(id) ?? -1
  return candidates.toSorted((one, other) => countOf(one) - countOf(other) || rankOf(one) - rankOf(other))
}

type TakeOverOptions = Parameters<RunStore['takeOver']>[1] & { now: number }

async function takeOver(db: Executor, worker: WorkerId, options: TakeOverOptions): Promise<RunRow | undefined> {
  const { quarantine, quarantineFrom, at, now } = options
  const found = await db.get(abandoned, { worker, now, isFree: quarantine === 'free' ? 1 : 0, quarantineFrom })
  if (!found) return undefined
  // A run that was handed back has no owner: no worker died.
  const deaths = found.lease_owner === null ? 0 : 1
  const row = await db.get(seize, { number: found.number, worker, deaths })
  if (row && deaths > 0) await logDeath(db, row, { fence: found.fence, at })
  return row
}

async function logDeath(db: Executor, row: RunRow, { fence, at }: { fence: number; at: number }): Promise<void> {
  const entry = { event: { type: 'worker-lost' as const, v: 1 as const, fence }, at, changes: [] }
  await writeEntries(db, row, { entries: [entry], from: row.next_seq - 1, commitId: `takeover-${row.id}-${row.fence}` })
}

/** Jumps from one organization to the next in the index: a long queue of one costs no more than a short one. */
const queuedOrganizations = statement<Record<never, never>>()((db) =>
  db
    .withRecursive('queued(id)', (recursive) =>
      recursive
        .selectNoFrom(
          sql<OrganizationId | null>`(select min(organization_id) from runs where status = 'created')`.as('id'),
        )
        .unionAll(
          recursive
            .selectFrom('queued')
            .select(
              sql<OrganizationId | null>`(select min(organization_id) from runs
                where status = 'created' and organization_id > queued.id)`.as('id'),
            )
            .where('queued.id', 'is not', null),
        ),
    )
    .selectFrom('queued')
    .select(sql<OrganizationId>`queued.id`.as('id'))
    .where('queued.id', 'is not', null),
)

const runningByOrganization = statement<Record<never, never>>()((db) =>
  db
    .selectFrom('runs')
    .select(['organization_id', sql<number>`count(*)`.as('count')])
    .where('status', '=', sql.lit('running' as const))
    .groupBy('organization_id'),
)

/**
 * The oldest run of the organization at the head of its conversation's queue. If two workers claim concurrently, the second skips the
 * locked head and must not find the run behind it.
 */
const claim = statement<{ organization: OrganizationId; worker: WorkerId; at: number }>()((db, p, { lockOrSkip }) =>
  db
    .updateTable('runs')
    .set({
      status: sql.lit('running' as const),
      fence: sql`fence + 1`,
      lease_owner: p('worker'),
      started_at: sql`coalesce(started_at, ${p('at')})`,
    })
    .where('number', '=', () =>
      lockOrSkip(
        db
          .selectFrom('runs as head')
          .select('head.number')
          .where('head.status', '=', sql.lit('created' as const))
          .where('head.organization_id', '=', p('organization'))
          .where(
            sql<SqlBool>`not exists (
              select 1 from runs as active
              where active.conversation_id = head.conversation_id and (active.status = 'running' or active.waiting = 1)
            )`,
          )
          .where(
            sql<SqlBool>`not exists (
              select 1 from runs as earlier
              where earlier.conversation_id = head.conversation_id and earlier.status = 'created'
                and (earlier.queue_rank < head.queue_rank
                  or (earlier.queue_rank = head.queue_rank and earlier.number < head.number))
            )`,
          )
          .orderBy('head.queue_rank')
          .orderBy('head.number')
          .limit(sql.lit(1)),
      ),
    )
    .returning(RUN_COLUMNS),
)

const anyQueued = statement<Record<never, never>>()((db) =>
  db
    .selectFrom('runs')
    .select('number')
    .where('status', '=', sql.lit('created' as const))
    .limit(sql.lit(1)),
)

/** Excludes the worker's own runs, even if its heartbeat is late: the worker that runs this query is alive. */
const abandoned = statement<{ worker: WorkerId; now: number; isFree: number; quarantineFrom: number }>()(
  (db, p, { lockOrSkip, leaseClock }) =>
    lockOrSkip(
      db
        .selectFrom('runs')
        .select(['number', 'fence', 'lease_owner'])
        .where('status', '=', sql.lit('running' as const))
        .where(
          sql<SqlBool>`(lease_owner is null or lease_owner <> ${p('worker')} and not exists (
            select 1 from workers where workers.id = runs.lease_owner and workers.expires_at > ${leaseClock(p('now'))}
          ))`,
        )
        .where(
          sql<SqlBool>`(cast(${p('isFree')} as integer) = 1
            or deaths + case when lease_owner is null then 0 else 1 end < ${p('quarantineFrom')})`,
        )
        .orderBy('number')
        .limit(sql.lit(1)),
    ),
)

const seize = statement<{ number: number; worker: WorkerId; deaths: number }>()((db, p) =>
  db
    .updateTable('runs')
    .set({
      fence: sql`fence + 1`,
      lease_owner: p('worker'),
      deaths: sql`deaths + ${p('deaths')}`,
      // One worker-lost event per death.
      next_seq: sql`next_seq + ${p('deaths')}`,
    })
    .where('number', '=', p('number'))
    .returning(RUN_COLUMNS),
)

const lockHeld = statement<{ id: RunId; fence: number; worker: WorkerId }>()((db, p, { lock }) =>
  lock(
    db
      .selectFrom('runs')
      .select(RUN_COLUMNS)
      .where('id', '=', p('id'))
      .where('fence', '=', p('fence'))
      .where('lease_owner', '=', p('worker')),
  ),
)

const held = statement<{ worker: WorkerId }>()((db, p) =>
  db
    .selectFrom('runs')
    .select(['id', 'fence'])
    .where('status', '=', sql.lit('running' as const))
    .where('lease_owner', '=', p('worker')),
)

const release = statement<{ id: RunId; fence: number }>()((db, p) =>
  db
    .updateTable('runs')
    .set({ lease_owner: null })
    .where('id', '=', p('id'))
    .where('fence', '=', p('fence'))
    .where('status', '=', sql.lit('running' as const)),
)

/** In any status: the stream of an ended run still gets its end. */
const raise = statement<{ id: RunId; fence: number }>()((db, p) =>
  db
    .updateTable('runs')
    .set({ chunk_bound: sql`chunk_bound + ${sql.lit(CHUNK_STRIDE)}` })
    .where('id', '=', p('id'))
    .where('fence', '=', p('fence'))
    .returning('chunk_bound'),
)
