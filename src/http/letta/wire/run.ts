import type { RunId } from '../../../core/id.ts'
import type { NewStep } from '../../../core/projection.ts'
import type { Run } from '../../../core/run.ts'
import { parseTarget } from '../../../core/target.ts'
import type { StoredStep } from '../../../ports/store.ts'
import { wireUsage } from '../stream-view.ts'
import { wireDate } from './message.ts'

const NANOSECONDS_PER_MILLISECOND = 1_000_000

export function wireRun(run: Run) {
  const { include_return_message_types, ...metadata } = (run.metadata ?? {}) as Record<string, unknown>
  const { errorType, message, detail } = run.error ?? {}
  const error = run.error
    ? {
        error: {
          message_type: 'error_message',
          run_id: run.id,
          error_type: errorType,
          message,
          detail: detail ?? null,
        },
      }
    : {}
  const took = run.completedAt === undefined ? undefined : run.completedAt - (run.startedAt ?? run.createdAt)
  return {
    id: run.id,
    status: run.status,
    created_at: wireDate(run.createdAt),
    completed_at: run.completedAt === undefined ? null : wireDate(run.completedAt),
    agent_id: run.agentId,
    conversation_id: run.conversationId,
    base_template_id: null,
    background: run.background,
    metadata: { ...metadata, ...error },
    request_config: {
      ...{ use_assistant_message: true, assistant_message_tool_name: 'send_message' },
      assistant_message_tool_kwarg: 'message',
      include_return_message_types: include_return_message_types ?? null,
    },
    stop_reason: run.stopReason ?? null,
    callback_url: run.callback?.url ?? null,
    callback_sent_at: run.callback?.sentAt === undefined ? null : wireDate(run.callback.sentAt),
    callback_status_code: run.callback?.statusCode ?? null,
    callback_error: run.callback?.error ?? null,
    ttft_ns: null,
    total_duration_ns: took === undefined ? null : took * NANOSECONDS_PER_MILLISECOND,
  }
}

/** What the client may filter a run's messages by again: it was said when the run was opened. */
export function typesOf({ metadata }: Run): string[] | undefined {
  const types = (metadata as Record<string, unknown> | null)?.include_return_message_types
  return Array.isArray(types) ? types.map(String) : undefined
}

export function wireStep(step: StoredStep) {
  const { id, runId, agentId, status, target, usage, stopReason, error } = step
  const { provider = null, model = target } = parseTarget(target) ?? {}
  const { promptTokens, completionTokens, cachedTokens, cacheWriteTokens, reasoningTokens } = usage
  return {
    ...{ id, origin: null, organization_id: null, provider_id: null, run_id: runId, agent_id: agentId },
    ...{ provider_name: provider, provider_category: 'base', model, model_handle: target, model_endpoint: null },
    ...{ context_window_limit: null, completion_tokens: completionTokens, prompt_tokens: promptTokens },
    total_tokens: promptTokens + completionTokens,
    cached_input_tokens: cachedTokens ?? null,
    cache_write_tokens: cacheWriteTokens ?? null,
    reasoning_tokens: reasoningTokens ?? null,
    ...tokenDetails(usage),
    stop_reason: stopReason ?? null,
    ...{
      tags: step.tags ?? [],
      tid: null,
      trace_id: null,
      request_id: null,
      messages: [],
      feedback: step.feedback ?? null,
      project_id: null,
    },
    error_type: error?.errorType ?? null,
    error_data: error ? { message: error.message, detail: error.detail ?? null } : null,
    status,
  }
}

const tokenDetails = ({ cachedTokens, cacheWriteTokens, reasoningTokens }: NewStep['usage']) => ({
  prompt_tokens_details:
    cachedTokens === undefined && cacheWriteTokens === undefined
      ? null
      : {
          ...{ cached_tokens: cachedTokens ?? null, cache_read_tokens: cachedTokens ?? null },
          cache_creation_tokens: cacheWriteTokens ?? null,
        },
  completion_tokens_details: reasoningTokens === undefined ? null : { reasoning_tokens: reasoningTokens },
})

/** The tokens of a run, as a stream tells them at its end. */
export function usageOf(steps: readonly NewStep[], runId: RunId) {
  const total = sumOf(steps)
  return wireUsage(
    {
      ...{ prompt_tokens: total.promptTokens, completion_tokens: total.completionTokens },
      ...{ total_tokens: total.promptTokens + total.completionTokens, step_count: steps.length },
      ...(total.cachedTokens === undefined ? {} : { cached_input_tokens: total.cachedTokens }),
      ...(total.cacheWriteTokens === undefined ? {} : { cache_write_tokens: total.cacheWriteTokens }),
      ...(total.reasoningTokens === undefined ? {} : { reasoning_tokens: total.reasoningTokens }),
    },
    runId,
  )
}

/** The same with the breakdown that `runs/{id}/usage` has. */
export function usageDetails(steps: readonly NewStep[]) {
  const total = sumOf(steps)
  return {
    completion_tokens: total.completionTokens,
    prompt_tokens: total.promptTokens,
    total_tokens: total.promptTokens + total.completionTokens,
    ...tokenDetails(total),
  }
}

function sumOf(steps: readonly NewStep[]): NewStep['usage'] {
  const sum = (field: 'cachedTokens' | 'cacheWriteTokens' | 'reasoningTokens') => {
    const known = steps.flatMap(({ usage }) => usage[field] ?? [])
    return known.length === 0 ? {} : { [field]: known.reduce((one, other) => one + other, 0) }
  }
  return {
    promptTokens: steps.reduce((total, { usage }) => total + usage.promptTokens, 0),
    completionTokens: steps.reduce((total, { usage }) => total + usage.completionTokens, 0),
    ...sum('cachedTokens'),
    ...sum('cacheWriteTokens'),
    ...sum('reasoningTokens'),
  }
}
