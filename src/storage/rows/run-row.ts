import { sql } from 'kysely'
import type { RunId } from '../../core/id.ts'
import type { Run } from '../../core/run.ts'
import type { RunCallback } from '../../core/webhook-delivery.ts'
import { type RowOf, rowMapper } from './row-mapping.ts'

const FIELDS = rowMapper<Omit<Run, 'callback'>>()({
  id: 'id',
  organizationId: 'organization_id',
  agentId: 'agent_id',
  conversationId: 'conversation_id',
  status: 'status',
  waiting: { flag: 'waiting' },
  stopReason: 'stop_reason',
  error: { json: 'error' },
  background: { flag: 'background' },
  metadata: { json: 'metadata' },
  createdAt: 'created_at',
  startedAt: 'started_at',
  completedAt: 'completed_at',
  expiresAt: 'expires_at',
  fence: 'fence',
  leaseOwner: 'lease_owner',
  nextSeq: 'next_seq',
  deaths: 'deaths',
  chunkBound: 'chunk_bound',
  silent: { flag: 'silent' },
  continues: 'continues',
  openedBy: 'opened_by',
})

const CALLBACK = rowMapper<RunCallback>()({
  url: 'callback_url',
  sentAt: 'callback_sent_at',
  statusCode: 'callback_status_code',
  error: 'callback_error',
})

type CallbackRow = RowOf<typeof CALLBACK>

/** Without a callback, its columns are null. `number` is the key of the run's rows in other tables. */
export type RunRow = { number: number } & RowOf<typeof FIELDS> & {
    [Column in keyof CallbackRow]: CallbackRow[Column] | null
  }

export const RUN_COLUMNS = ['number', ...FIELDS.columns, ...CALLBACK.columns] as const

export function runOf(row: RunRow): Run {
  const run: Run = FIELDS.objectOf(row)
  if (row.callback_url !== null) run.callback = CALLBACK.objectOf(row as CallbackRow)
  return run
}

/** Columns of a run that never change, as writes of its rows need them. */
export type ChangedRun = Pick<RunRow, (typeof CHANGED_RUN_COLUMNS)[number]>

export const CHANGED_RUN_COLUMNS = ['number', 'id', 'organization_id', 'agent_id', 'conversation_id'] as const

/** Subquery for reads that have the run's id. */
export const numberOfRun = (id: RunId) => sql<number>`(select number from runs where id = ${id})`
