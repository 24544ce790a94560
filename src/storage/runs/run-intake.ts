import { sql } from 'kysely'
import { decideAdmission, type Occupancy } from '../../core/admission.ts'
import { defined } from '../../core/defined.ts'
import type { ConversationId, RunId, WorkerId } from '../../core/id.ts'
import type { ProjectedEvent } from '../../core/projection.ts'
import type { Run } from '../../core/run.ts'
import type { ContinueRun, NewRun, OpenedRun, OpenRun } from '../../ports/store.ts'
import { takeOpeningLock } from '../conversations/conversations.ts'
import { insertInto, parametersOf } from '../database/row-statements.ts'
import { type Executor, statement } from '../database/statement.ts'
import { RUN_COLUMNS, runOf } from '../rows/run-row.ts'
import type { NewRow } from '../rows/tables.ts'
import { appendEvents, lockRun, writeEntries } from './events.ts'
import { findEarlierRequest, saveRequest } from './run-requests.ts'

/** Decides and opens in one transaction, so that two senders cannot both be first. */
export async function openRun(db: Executor, open: OpenRun): Promise<OpenedRun> {
  const { run, policy } = open
  const conversation = await takeOpeningLockOf(db, run)
  if (conversation?.agent_id !== run.agentId) return { type: 'no-conversation' }

  const earlier = await findByKey(db, run)
  if (earlier)
    return earlier.request_digest === run.idempotency?.digest
      ? { type: 'repeated', runId: earlier.id }
      : { type: 'key-conflict', runId: earlier.id }
  const recognized = await findEarlierRequest(db, run)
  if (recognized) return recognized

  // Repeats if the running run ended meanwhile; each round reads the new state.
  for (;;) {
    const occupancy = await readOccupancy(db, run)
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
  return insertRun(db, run, { entry, queueRank: 0, ...defined({ claimFor: claimFor || undefined }) })
}

/** The result of a commit of unknown outcome. Taking the lock first waits until it is decided. */
export async function findOpenedRun(db: Executor, { run }: OpenRun): Promise<OpenedRun | undefined> {
  await takeOpeningLockOf(db, run)
  const found = await db.get(byIdAnywhere, { id: run.id })
  return found && { type: 'opened', run: runOf(found) }
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
      await keepSteeredKey(db, run, admission.running)
      return { type: 'steered', runId: admission.running }
    }
    case 'interrupt-then-open': {
      if (!(await appendAsGuest(db, open, { runId: admission.running, entry: open.interruption }))) return undefined
      return { type: 'opened', run: await insertRun(db, run, { entry, queueRank: 1 }), interrupted: admission.running }
    }
    case 'open': {
      const isFree = !occupancy.running && !occupancy.waiting && occupancy.queued === 0
      const claim = claimFor && isFree ? { claimFor } : {}
      return { type: 'opened', run: await insertRun(db, run, { entry, queueRank: 1, ...claim }) }
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

async function insertRun(
  db: Executor,
  run: NewRun,
  { entry, queueRank, claimFor }: { entry: ProjectedEvent; queueRank: number; claimFor?: WorkerId },
): Promise<Run> {
  const row = await db.get(insert, {
    id: run.id,
    organization_id: run.organizationId,
    agent_id: run.agentId,
    conversation_id: run.conversationId,
    status: claimFor ? 'running' : 'created',
    background: run.background ? 1 : 0,
    metadata: JSON.stringify(run.metadata),
    created_at: run.createdAt,
    started_at: claimFor ? entry.at : null,
    fence: claimFor ? 1 : 0,
    lease_owner: claimFor ?? null,
    // The accepted input is event 1 and is written with the run.
    next_seq: 2,
    continues: run.continues ?? null,
    queue_rank: queueRank,
    idempotency_key: run.idempotency?.key ?? null,
    request_digest: run.idempotency?.digest ?? null,
    callback_url: run.callback?.url ?? null,
    callback_reach: run.callback?.trust ?? null,
    callback_due_at: run.callback ? run.createdAt : null,
  })
  await writeEntries(db, row!, { entries: [entry], from: 1, commitId: run.id })
  await saveRequest(db, run)
  return runOf(row!)
}

const takeOpeningLockOf = (db: Executor, { organizationId, conversationId }: NewRun) =>
  db.get(takeOpeningLock, { organization: organizationId, id: conversationId })

async function findByKey(db: Executor, { conversationId, idempotency }: NewRun) {
  if (!idempotency) return undefined
  const values = { conversation: conversationId, key: idempotency.key }
  return (await db.get(runByKey, values)) ?? (await db.get(steeredByKey, values))
}

/** Undefined: the conversation was deleted while this transaction waited for the opening lock. */
async function readOccupancy(db: Executor, { conversationId }: NewRun): Promise<Occupancy | undefined> {
  const active = await db.get(activeOf, { conversation: conversationId })
  const queue = await db.get(queueOf, { conversation: conversationId })
  if (Number(queue?.deleted ?? 0) > 0) return undefined
  const queued = Number(queue?.count ?? 0)
  if (!active) return { queued }
  return active.waiting === 1 ? { waiting: active.id, queued } : { running: active.id, queued }
}

/** A steered request opens no run that could store its key. */
async function keepSteeredKey(db: Executor, run: NewRun, steered: Run['id']): Promise<void> {
  if (!run.idempotency) return
  await db.run(insertSteered, {
    organization_id: run.organizationId,
    conversation_id: run.conversationId,
    idempotency_key: run.idempotency.key,
    request_digest: run.idempotency.digest,
    run_id: steered,
  })
}

const INSERTED = [
  'id',
  'organization_id',
  'agent_id',
  'conversation_id',
  'status',
  'background',
  'metadata',
  'created_at',
  'started_at',
  'fence',
  'lease_owner',
  'next_seq',
  'continues',
  'queue_rank',
  'idempotency_key',
  'request_digest',
  'callback_url',
  'callback_reach',
  'callback_due_at',
] as const

const insert = statement<Pick<NewRow<'runs'>, (typeof INSERTED)[number]>>()((db, p) =>
  db.insertInto('runs').values(parametersOf(p, INSERTED)).returning(RUN_COLUMNS),
)

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

const steeredByKey = statement<{ conversation: ConversationId; key: string }>()((db, p) =>
  db
    .selectFrom('steered_requests')
    .select(['run_id as id', 'request_digest'])
    .where('conversation_id', '=', p('conversation'))
    .where('idempotency_key', '=', p('key')),
)

const insertSteered = insertInto('steered_requests', [
  'organization_id',
  'conversation_id',
  'idempotency_key',
  'request_digest',
  'run_id',
])

/** Must match the condition of the partial index, or SQLite would not use it. */
const activeOf = statement<{ conversation: ConversationId }>()((db, p) =>
  db
    .selectFrom('runs')
    .select(['id', 'waiting'])
    .where('conversation_id', '=', p('conversation'))
    .where(sql<boolean>`(status = 'running' or waiting = 1)`),
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
