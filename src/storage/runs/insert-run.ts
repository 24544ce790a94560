import type { WorkerId } from '../../core/id.ts'
import type { Change, ProjectedEvent } from '../../core/projection.ts'
import type { NewRun } from '../../ports/store.ts'
import { parametersOf } from '../database/row-statements.ts'
import { type Executor, statement } from '../database/statement.ts'
import { type ChangedRun, RUN_COLUMNS, type RunRow } from '../rows/run-row.ts'
import type { NewRow } from '../rows/tables.ts'
import { insertEvents } from './event-rows.ts'
import { forgetSteer } from './steers.ts'

/**
 * A run that holds the results of open calls is `at-once`: no message may come between calls and their results. One that
 * others of its conversation must not pass is `next`; any other waits behind all of them.
 */
export type Rank = 'at-once' | 'next' | 'last'

const QUEUE_RANKS: Record<Rank, number> = { 'at-once': -1, next: 0, last: 1 }

type InsertRunOptions = { entry: Omit<ProjectedEvent, 'changes'>; rank: Rank; claimFor?: WorkerId }

/** Inserts the run with its accepted input, which is event 1. */
export async function insertRun(
  db: Executor,
  run: NewRun,
  { entry, rank, claimFor }: InsertRunOptions,
): Promise<RunRow> {
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
    next_seq: 2,
    continues: run.continues ?? null,
    opened_by: run.openedBy ?? null,
    queue_rank: QUEUE_RANKS[rank],
    idempotency_key: run.idempotency?.key ?? null,
    request_digest: run.idempotency?.digest ?? null,
    callback_url: run.callback?.url ?? null,
    callback_reach: run.callback?.trust ?? null,
  })
  await insertEvents(db, row!, { entries: [entry], from: 1, commitId: run.id })
  return row!
}

/** A steered message that its turn did not read gets the run whose id it reserved. */
export async function openMovedRun(
  db: Executor,
  from: ChangedRun,
  { run, event, at }: Extract<Change, { type: 'open-run' }>,
): Promise<void> {
  const moved: NewRun = {
    id: run.runId,
    organizationId: from.organization_id,
    agentId: from.agent_id,
    conversationId: from.conversation_id,
    background: run.background,
    createdAt: at,
    metadata: run.metadata,
  }
  await insertRun(db, moved, { entry: { event, at }, rank: 'next' })
  await forgetSteer(db, run.runId)
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
  'opened_by',
  'queue_rank',
  'idempotency_key',
  'request_digest',
  'callback_url',
  'callback_reach',
] as const

const insert = statement<Pick<NewRow<'runs'>, (typeof INSERTED)[number]>>()((db, p) =>
  db.insertInto('runs').values(parametersOf(p, INSERTED)).returning(RUN_COLUMNS),
)
