import type { Usage } from '../../core/event.ts'
import type { AgentId } from '../../core/id.ts'
import type { NewStep } from '../../core/projection.ts'
import type { StoredStep } from '../../ports/store.ts'
import { type RowOf, rowMapper } from './row-mapping.ts'

const FIELDS = rowMapper<Omit<StoredStep, 'usage'>>()({
  id: 'id',
  runId: 'run_id',
  agentId: 'agent_id',
  status: 'status',
  target: 'model_handle',
  stopReason: 'stop_reason',
  error: { json: 'error_data' },
  feedback: 'feedback',
  tags: { list: 'tags' },
  createdAt: 'created_at',
})

const USAGE = rowMapper<Usage>()({
  promptTokens: 'prompt_tokens',
  completionTokens: 'completion_tokens',
  cachedTokens: 'cached_input_tokens',
  cacheWriteTokens: 'cache_write_tokens',
  reasoningTokens: 'reasoning_tokens',
})

export type StepRow = RowOf<typeof FIELDS> & RowOf<typeof USAGE>

export const STEP_COLUMNS = [...FIELDS.columns, ...USAGE.columns] as const

export const stepRowOf = (step: NewStep, agentId: AgentId): StepRow => ({
  ...FIELDS.rowOf({ ...step, agentId }),
  ...USAGE.rowOf(step.usage),
})

export const stepOf = (row: StepRow): StoredStep => ({ ...FIELDS.objectOf(row), usage: USAGE.objectOf(row) })
