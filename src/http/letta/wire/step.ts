import { z } from 'zod'
import { parseTarget } from '../../../core/target.ts'
import type { StoredStep } from '../../../ports/store.ts'
import type { StepTimes } from '../../../service/runs/steps.ts'
import { always, alwaysEmpty, alwaysNull } from './constant-field.ts'
import { stopReasonSchema } from './stop-reason.ts'
import { cachedTokensSchema, tokenDetails, tokenDetailsSchema } from './usage.ts'

export const stepSchema = z.lazy(() =>
  z
    .object({
      id: z.string(),
      origin: alwaysNull,
      organization_id: alwaysNull,
      provider_id: alwaysNull,
      run_id: z.string(),
      agent_id: z.string(),
      provider_name: z.string().nullable().describe('Provider that answered.'),
      provider_category: always('base'),
      model: z.string().describe('Model that answered, without its provider.'),
      model_handle: z.string().describe('Model that answered, as provider/model.'),
      model_endpoint: alwaysNull,
      context_window_limit: alwaysNull,
      completion_tokens: z.int().describe('Tokens the model wrote, reasoning included.'),
      prompt_tokens: z.int().describe('Tokens the model read, cached ones included.'),
      total_tokens: z.int().describe('`prompt_tokens` and `completion_tokens` together.'),
      ...cachedTokensSchema,
      ...tokenDetailsSchema.shape,
      stop_reason: stopReasonSchema.nullable().describe('Why the run ended with this step; null when it continued.'),
      tags: z.array(z.string()).describe('Tags that were sent as feedback.'),
      tid: alwaysNull,
      trace_id: alwaysNull,
      request_id: alwaysNull,
      messages: alwaysEmpty,
      feedback: z.enum(['positive', 'negative']).nullable().describe('Rating that was sent as feedback.'),
      project_id: alwaysNull,
      error_type: z.string().nullable().describe('Kind of the error that ended the step; null without one.'),
      error_data: z
        .object({ message: z.string(), detail: z.string().nullable() })
        .nullable()
        .describe('The error that ended the step; null without one.'),
      status: z.enum(['success', 'failed', 'cancelled']),
    })
    .meta({ id: 'Step', description: 'One answer of the model and the results of its tool calls.' }),
)

type WireStep = z.output<typeof stepSchema>

export function wireStep(step: StoredStep): WireStep {
  const { id, runId, agentId, status, target, usage, stopReason, error } = step
  const { provider = null, model = target } = parseTarget(target) ?? {}
  const { promptTokens, completionTokens, cachedTokens, cacheWriteTokens, reasoningTokens } = usage
  return {
    id,
    origin: null,
    organization_id: null,
    provider_id: null,
    run_id: runId,
    agent_id: agentId,
    provider_name: provider,
    provider_category: 'base',
    model,
    model_handle: target,
    model_endpoint: null,
    context_window_limit: null,
    completion_tokens: completionTokens,
    prompt_tokens: promptTokens,
    total_tokens: promptTokens + completionTokens,
    cached_input_tokens: cachedTokens ?? null,
    cache_write_tokens: cacheWriteTokens ?? null,
    reasoning_tokens: reasoningTokens ?? null,
    ...tokenDetails(usage),
    stop_reason: stopReason ?? null,
    tags: step.tags ?? [],
    tid: null,
    trace_id: null,
    request_id: null,
    messages: [],
    feedback: step.feedback ?? null,
    project_id: null,
    error_type: error?.errorType ?? null,
    error_data: error ? { message: error.message, detail: error.detail ?? null } : null,
    status,
  }
}

const NANOSECONDS_PER_MILLISECOND = 1_000_000

export const stepMetricsSchema = z.lazy(() =>
  z
    .object({
      id: z.string().describe('Id of the step.'),
      run_id: z.string(),
      agent_id: z.string(),
      provider_id: alwaysNull,
      project_id: alwaysNull,
      step_start_ns: z.number().nullable().describe('When the step began, in nanoseconds since 1970.'),
      llm_request_start_ns: z
        .number()
        .nullable()
        .describe('When the model was first called, in nanoseconds since 1970.'),
      llm_request_ns: z
        .number()
        .nullable()
        .describe('Nanoseconds until the answer was complete, failed attempts included.'),
      tool_execution_ns: z.number().nullable().describe('Nanoseconds of the tool calls; null when no tool ran.'),
      step_ns: z.number().nullable().describe('Nanoseconds of the whole step.'),
      base_template_id: alwaysNull,
      template_id: alwaysNull,
    })
    .meta({ id: 'StepMetrics', description: 'How long a step took, and its parts.' }),
)

type WireStepMetrics = z.output<typeof stepMetricsSchema>

export function wireStepMetrics(step: StoredStep, times: StepTimes | undefined): WireStepMetrics {
  return {
    id: step.id,
    run_id: step.runId,
    agent_id: step.agentId,
    provider_id: null,
    project_id: null,
    step_start_ns: nanoseconds(times?.startedAt),
    llm_request_start_ns: nanoseconds(times?.startedAt),
    llm_request_ns: nanoseconds(times?.modelMs),
    tool_execution_ns: nanoseconds(times?.toolsMs),
    step_ns: nanoseconds(times?.totalMs),
    base_template_id: null,
    template_id: null,
  }
}

const nanoseconds = (ms: number | undefined): number | null =>
  ms === undefined ? null : ms * NANOSECONDS_PER_MILLISECOND
