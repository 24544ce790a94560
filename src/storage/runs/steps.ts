import type { Selectable } from 'kysely'
import type { RunError } from '../../core/failure.ts'
import type { OrganizationId, RunId, StepId } from '../../core/id.ts'
import type { NewStep } from '../../core/projection.ts'
import { parseTarget } from '../../core/target.ts'
import type { StepRating, StoredStep } from '../../ports/store.ts'
import type { Tables } from '../database/schema.ts'
import { type Executor, statement } from '../database/statement.ts'
import type { ChangedRun } from './run-row.ts'
import { numberOfRun } from './run-row.ts'

export async function insertStep(db: Executor, run: ChangedRun, step: NewStep): Promise<void> {
  const { usage, error, target } = step
  const parsed = parseTarget(target)
  await db.run(insert, {
    id: step.id,
    organization: run.organization_id,
    run: run.id,
    runNumber: run.number,
    agent: run.agent_id,
    status: step.status,
    provider: parsed?.provider ?? '',
    model: parsed?.model ?? target,
    handle: target,
    prompt: usage.promptTokens,
    completion: usage.completionTokens,
    total: usage.promptTokens + usage.completionTokens,
    cached: usage.cachedTokens ?? null,
    cacheWritten: usage.cacheWriteTokens ?? null,
    reasoning: usage.reasoningTokens ?? null,
    stopReason: step.stopReason ?? null,
    errorType: error?.errorType ?? null,
    error: error ? JSON.stringify(error) : null,
    at: step.createdAt,
  })
}

export async function readSteps(db: Executor, runId: RunId): Promise<NewStep[]> {
  const rows = await db.all(ofRun, { run: runId })
  return rows.map((row) => {
    const { agentId: _, feedback: __, tags: ___, ...step } = stepOf(row)
    return step
  })
}

export async function readStep(
  db: Executor,
  organizationId: OrganizationId,
  id: StepId,
): Promise<StoredStep | undefined> {
  const row = await db.get(byId, { organization: organizationId, id })
  return row && stepOf(row)
}

export async function rateStep(
  db: Executor,
  { organizationId, id }: { organizationId: OrganizationId; id: StepId },
  { feedback, tags }: StepRating,
): Promise<StoredStep | undefined> {
  const row = await db.get(rate, {
    ...{ organization: organizationId, id, feedback: feedback ?? null, tags: tags ? JSON.stringify(tags) : null },
  })
  return row && stepOf(row)
}

export const STEP_COLUMNS = [
  'id',
  'run_id',
  'agent_id',
  'status',
  'model_handle',
  'prompt_tokens',
  'completion_tokens',
  'cached_input_tokens',
  'cache_write_tokens',
  'reasoning_tokens',
  'stop_reason',
  'error_data',
  'feedback',
  'tags',
  'created_at',
] as const

export function stepOf(row: Pick<Selectable<Tables['steps']>, (typeof STEP_COLUMNS)[number]>): StoredStep {
  const step: StoredStep = {
    id: row.id,
    runId: row.run_id,
    agentId: row.agent_id,
    status: row.status,
    target: row.model_handle,
    usage: { promptTokens: row.prompt_tokens, completionTokens: row.completion_tokens },
    createdAt: row.created_at,
  }
  if (row.cached_input_tokens !== null) step.usage.cachedTokens = row.cached_input_tokens
  if (row.cache_write_tokens !== null) step.usage.cacheWriteTokens = row.cache_write_tokens
  if (row.reasoning_tokens !== null) step.usage.reasoningTokens = row.reasoning_tokens
  if (row.stop_reason !== null) step.stopReason = row.stop_reason
  if (row.feedback !== null) step.feedback = row.feedback as NonNullable<StepRating['feedback']>
  if (row.tags !== null) step.tags = JSON.parse(row.tags) as string[]
  if (row.error_data !== null) step.error = JSON.parse(row.error_data) as RunError
  return step
}

const insert = statement<{
  id: string
  organization: string
  run: string
  runNumber: number
  agent: string
  status: string
  provider: string
  model: string
  handle: string
  prompt: number
  completion: number
  total: number
  cached: number | null
  cacheWritten: number | null
  reasoning: number | null
  stopReason: string | null
  errorType: string | null
  error: string | null
  at: number
}>()((db, p) =>
  db.insertInto('steps').values({
    id: p('id'),
    organization_id: p('organization'),
    run_id: p('run'),
    run_number: p('runNumber'),
    agent_id: p('agent'),
    status: p('status'),
    provider_name: p('provider'),
    model: p('model'),
    model_handle: p('handle'),
    prompt_tokens: p('prompt'),
    completion_tokens: p('completion'),
    total_tokens: p('total'),
    cached_input_tokens: p('cached'),
    cache_write_tokens: p('cacheWritten'),
    reasoning_tokens: p('reasoning'),
    stop_reason: p('stopReason'),
    error_type: p('errorType'),
    error_data: p('error'),
    created_at: p('at'),
  }),
)

const ofRun = statement<{ run: string }>()((db, p) =>
  db
    .selectFrom('steps')
    .select(STEP_COLUMNS)
    .where('run_number', '=', numberOfRun(p('run')))
    .orderBy('number'),
)

const byId = statement<{ organization: string; id: string }>()((db, p) =>
  db
    .selectFrom('steps')
    .select(STEP_COLUMNS)
    .where('id', '=', p('id'))
    .where('organization_id', '=', p('organization')),
)

const rate = statement<{ organization: string; id: string; feedback: string | null; tags: string | null }>()((db, p) =>
  db
    .updateTable('steps')
    .set({ feedback: p('feedback'), tags: p('tags') })
    .where('id', '=', p('id'))
    .where('organization_id', '=', p('organization'))
    .returning(STEP_COLUMNS),
)
