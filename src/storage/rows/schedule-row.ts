import type { Schedule, SettledInstant } from '../../core/schedule.ts'
import { type RowOf, rowMapper } from './row-mapping.ts'

const FIELDS = rowMapper<
  Pick<
    Schedule,
    'id' | 'organizationId' | 'agentId' | 'conversationId' | 'nextAt' | 'isPaused' | 'lastRun' | 'createdAt' | 'pause'
  >
>()({
  id: 'id',
  organizationId: 'organization_id',
  agentId: 'agent_id',
  conversationId: 'conversation_id',
  nextAt: 'next_at',
  isPaused: { flag: 'is_paused' },
  pause: { json: 'pause' },
  lastRun: 'last_run',
  createdAt: 'created_at',
})

/** `body` is JSON of all other fields, which never change. */
export type ScheduleRow = RowOf<typeof FIELDS> & { body: string }

export const SCHEDULE_COLUMNS = [...FIELDS.columns, 'body'] as const

export const scheduleRowOf = (schedule: Schedule): ScheduleRow => ({
  ...FIELDS.rowOf(schedule),
  body: FIELDS.restAsJson(schedule) ?? '{}',
})

export const scheduleOf = (row: ScheduleRow): Schedule => ({ ...JSON.parse(row.body), ...FIELDS.objectOf(row) })

const INSTANT_FIELDS = rowMapper<SettledInstant>()({
  instant: 'instant',
  lastInstant: 'last_instant',
  count: 'count',
  outcome: 'outcome',
  reason: 'reason',
  runId: 'run_id',
  settledAt: 'settled_at',
  isManual: { flag: 'is_manual' },
})

export type SettledInstantRow = RowOf<typeof INSTANT_FIELDS>

export const INSTANT_COLUMNS = INSTANT_FIELDS.columns

export const instantRowOf = INSTANT_FIELDS.rowOf
export const instantOf = INSTANT_FIELDS.objectOf
