import { type Selectable, sql } from 'kysely'
import type { RunCallback } from '../../core/callback.ts'
import type { AgentId, ConversationId, OrganizationId, RunId } from '../../core/id.ts'
import type { Run } from '../../core/run.ts'
import type { Tables } from '../database/schema.ts'

export type RunRow = Pick<Selectable<Tables['runs']>, (typeof RUN_COLUMNS)[number]>

/** What a Run is made of, and the number its rows in other tables are kept under. */
export const RUN_COLUMNS = [
  'number',
  'id',
  'organization_id',
  'agent_id',
  'conversation_id',
  'status',
  'waiting',
  'stop_reason',
  'error',
  'background',
  'metadata',
  'created_at',
  'started_at',
  'completed_at',
  'expires_at',
  'fence',
  'lease_owner',
  'next_seq',
  'deaths',
  'chunk_bound',
  'continues',
  'callback_url',
  'callback_sent_at',
  'callback_status_code',
  'callback_error',
] as const

/** Whose rows are changed; all of it stays as it is for as long as the run is there. */
export type ChangedRun = {
  number: number
  id: RunId
  organization_id: OrganizationId
  agent_id: AgentId
  conversation_id: ConversationId
}

/** For reads that know a run by its id. */
export const numberOfRun = (id: never) => sql<number>`(select number from runs where id = ${id})`

export function runOf(row: RunRow): Run {
  const run: Run = {
    id: row.id,
    organizationId: row.organization_id,
    agentId: row.agent_id,
    conversationId: row.conversation_id,
    status: row.status,
    waiting: row.waiting === 1,
    background: row.background === 1,
    metadata: JSON.parse(row.metadata),
    createdAt: row.created_at,
    fence: row.fence,
    nextSeq: row.next_seq,
    deaths: row.deaths,
    chunkBound: row.chunk_bound,
  }
  if (row.stop_reason !== null) run.stopReason = row.stop_reason
  if (row.error !== null) run.error = JSON.parse(row.error)
  if (row.started_at !== null) run.startedAt = row.started_at
  if (row.completed_at !== null) run.completedAt = row.completed_at
  if (row.expires_at !== null) run.expiresAt = row.expires_at
  if (row.lease_owner !== null) run.leaseOwner = row.lease_owner
  if (row.continues !== null) run.continues = row.continues
  if (row.callback_url !== null) run.callback = callbackOf(row, row.callback_url)
  return run
}

const callbackOf = (row: RunRow, url: string): RunCallback => ({
  url,
  ...(row.callback_sent_at === null ? {} : { sentAt: row.callback_sent_at }),
  ...(row.callback_status_code === null ? {} : { statusCode: row.callback_status_code }),
  ...(row.callback_error === null ? {} : { error: row.callback_error }),
})
