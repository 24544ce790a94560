import { sql } from 'kysely'
import { decideAdmission, type Occupancy } from '../../core/admission.ts'
import { defined } from '../../core/defined.ts'
import type { ConversationId, RunId } from '../../core/id.ts'
import type { ProjectedEvent } from '../../core/projection.ts'
import type { Run } from '../../core/run.ts'
import type { ContinueRun, NewRun, OpenedRun, OpenRun } from '../../ports/store.ts'
import { takeOpeningLock } from '../conversations/conversations.ts'
import { type Executor, statement } from '../database/statement.ts'
import { RUN_COLUMNS, runOf } from '../rows/run-row.ts'
import { appendEvents, lockRun } from './events.ts'
import { insertRun } from './insert-run.ts'
import { refuseOverQuota } from './queue-quota.ts'
import { findEarlierRequest, saveRequest } from './run-requests.ts'
import { carrierOf, countSteers, findSteer, findSteerByKey, saveSteer } from './steers.ts'

/** Decides and opens in one transaction, so that two senders cannot both be first. */
export async function openRun(db: Executor, open: OpenRun): Promise<OpenedRun> {
  const { run, policy } = open
  const conversation = await takeOpeningLockOf(db, run)
  if (conversation?.agent_id !== run.agentId) return { type: 'no-conversation' }

  const earlier = await findByKey(db, run)
  if (earlier) {
    const runId = await carrierOf(db, earlier.id)
    if (earlier.request_digest !== run.idempotency?.digest) return { type: 'key-conflict', runId }
    return { type: 'repeated', runId, request: earlier.id }
  }
  const recognized = await findEarlierRequest(db, run)
  if (recognized) return recognized

  const { onlyAfter } = open
  if (onlyAfter && (await db.get(newestOf, { conversation: run.conversationId }))?.id !== onlyAfter)
    return { type: 'moved-on' }

  // Repeats if the running run ended meanwhile; each round reads the new state.
  for (;;) {
    const occupancy = await readOccupancy(db, open)
    if (!occupancy) return { type: 'no-conversation' }
    const opened = await applyAdmission(db, open, { occupancy, admission: decideAdmission(policy, occupancy) })
    if (opened) return opened
  }
}

/** Appends the answer to the approval and opens the run that continues, atomically. */
export async function continueRun(db: Executor, request: ContinueRun): Promise<Run | undefined> {
  const { answer, run, entry, claimFor } = request
  const earlier = answer.isRetry && (await findContinuedRun(db, request))
  if (earlier) return earlier
  const answered = await appendEvents(db, answer)
  if (answered.type === 'refused') return undefined
  return openNew(db, run, { entry, rank: 'at-once', ...defined({ claimFor: claimFor || undefined }) })
}

/** The result of a commit of unknown outcome. Taking the lock first waits until it is decided. */
export async function findOpenedRun(db: Executor, { run }: OpenRun): Promise<OpenedRun | undefined> {
  await takeOpeningLockOf(db, run)
  const found = await db.get(byIdAnywhere, { id: run.id })
  if (found) return { type: 'opened', run: runOf(found) }
  const steer = await findSteer(db, run.id)
  return steer && { type: 'steered', runId: steer.run_id, request: run.id }
}

export async function findContinuedRun(db: Executor, { answer, run }: ContinueRun): Promise<Run | undefined> {
  await db.get(lockRun, { id: answer.runId })
  const found = await db.get(byIdAnywhere, { id: run.id })
  return found && runOf(found)
}

async function applyAdmission(
  db: Executor,
  open: OpenRun,
  { occupancy, admission }: { occupancy: Occupancy; admission: ReturnType<typeof decideAdmission> },
): Promise<OpenedRun | undefined> {
  const { run, entry, claimFor } = open
  switch (admission.type) {
    case 'refuse': {
      const { refusal, runId } = admission
      return { type: 'refused', refusal, ...defined({ runId: runId || undefined }) }
    }
    case 'steer-into': {
      if (!(await appendAsGuest(db, open, { runId: admission.running, entry: open.steering }))) return undefined
      await saveSteer(db, run, admission.running)
      await saveRequest(db, run)
      return { type: 'steered', runId: admission.running, request: run.id }
    }
    case 'interrupt-then-open': {
      const refused = await refuseOverQuota(db, open)
      if (refused) return refused
      if (!(await appendAsGuest(db, open, { runId: admission.running, entry: open.interruption }))) return undefined
      return { type: 'opened', run: await openNew(db, run, { entry, rank: 'next' }), interrupted: admission.running }
    }
    case 'open': {
      const isFree = !occupancy.running && !occupancy.waiting && occupancy.queued === 0
      const claim = claimFor && isFree ? { claimFor } : {}
      // A steer that finds no turn to join also goes next.
      const rank = open.policy === 'interrupt' || open.policy === 'steer' ? 'next' : 'last'
      const refused = claim.claimFor ? undefined : await refuseOverQuota(db, open)
      if (refused) return refused
      return { type: 'opened', run: await openNew(db, run, { entry, rank, ...claim }) }
    }
  }
}

/** Above every sequence number: this writer does not read the news. */
const SEEN_EVERYTHING = 2_147_483_647

async function appendAsGuest(
  db: Executor,
  { run }: OpenRun,
  { runId, entry }: { runId: Run['id']; entry: ProjectedEvent },
): Promise<boolean> {
  const writer = { type: 'guest' as const, phases: ['running' as const] }
  const seen = SEEN_EVERYTHING
  const appended = await appendEvents(db, { runId, commitId: run.id, writer, seen, facts: [entry], intents: [] })
  return appended.type === 'appended'
}

async function openNew(db: Executor, run: NewRun, options: Parameters<typeof insertRun>[2]): Promise<Run> {
  const row = await insertRun(db, run, options)
  await saveRequest(db, run)
  return runOf(row)
}

const takeOpeningLockOf = (db: Executor, { organizationId, conversationId }: NewRun) =>
  db.get(takeOpeningLock, { organization: organizationId, id: conversationId })

async function findByKey(db: Executor, { conversationId, idempotency }: NewRun) {
  if (!idempotency) return undefined
  const values = { conversation: conversationId, key: idempotency.key }
  return (await db.get(runByKey, values)) ?? (await findSteerByKey(db, values))
}

/** Undefined: the conversation was deleted while this transaction waited for the opening lock. */
async function readOccupancy(
  db: Executor,
  { run: { conversationId }, policy }: OpenRun,
): Promise<Occupancy | undefined> {
  const active = await db.get(activeOf, { conversation: conversationId })
  const queue = await db.get(queueOf, { conversation: conversationId })
  if (Number(queue?.deleted ?? 0) > 0) return undefined
  const queued = Number(queue?.count ?? 0)
  if (!active) return { queued }
  if (active.waiting === 1) return { waiting: active.id, queued }
  const steered = policy === 'steer' ? await countSteers(db, active.id) : undefined
  return { running: active.id, queued, ...defined({ steered }) }
}

export const byIdAnywhere = statement<{ id: RunId }>()((db, p) =>
  db.selectFrom('runs').select(RUN_COLUMNS).where('id', '=', p('id')),
)

const runByKey = statement<{ conversation: ConversationId; key: string }>()((db, p) =>
  db
    .selectFrom('runs')
    .select(['id', 'request_digest'])
    .where('conversation_id', '=', p('conversation'))
    .where('idempotency_key', '=', p('key')),
)

/** Must match the condition of the partial index, or SQLite would not use it. */
const activeOf = statement<{ conversation: ConversationId }>()((db, p) =>
  db
    .selectFrom('runs')
    .select(['id', 'waiting'])
    .where('conversation_id', '=', p('conversation'))
    .where(sql<boolean>`(status = 'running' or waiting = 1)`),
)

const newestOf = statement<{ conversation: ConversationId }>()((db, p) =>
  db
    .selectFrom('runs')
    .select('id')
    .where('conversation_id', '=', p('conversation'))
    .orderBy('number', 'desc')
    .limit(sql.lit(1)),
)

const queueOf = statement<{ conversation: ConversationId }>()((db, p) =>
  db
    .selectFrom('runs')
    .select((select) => select.fn.countAll<number>().as('count'))
    .select(
      sql<number>`(select count(*) from conversations
        where conversations.id = ${p('conversation')} and conversations.deleted_at is not null)`.as('deleted'),
    )
    .where('conversation_id', '=', p('conversation'))
    .where('status', '=', sql.lit('created' as const)),
)
