import type { Message } from '../core/message.ts'
import type { NewStep } from '../core/projection.ts'
import type { Run } from '../core/run.ts'

/** A run with the field names of the HTTP API, for programs that read the CLI. */
export const runJson = (run: Run) => ({
  run_id: run.id,
  status: run.status,
  waiting: run.waiting,
  stop_reason: run.stopReason ?? null,
  silent: run.silent ?? false,
  error: run.error ?? null,
  agent_id: run.agentId,
  conversation_id: run.conversationId,
  created_at: timeJson(run.createdAt),
  started_at: timeJson(run.startedAt),
  completed_at: timeJson(run.completedAt),
  deaths: run.deaths,
  continues: run.continues ?? null,
})

export const messageJson = ({ id, runId, body, createdAt }: Message) => ({
  id,
  run_id: runId,
  created_at: timeJson(createdAt),
  ...body,
})

export const stepJson = ({ id, status, target, usage, createdAt }: NewStep) => ({
  id,
  status,
  target,
  usage: {
    prompt_tokens: usage.promptTokens,
    completion_tokens: usage.completionTokens,
    cached_tokens: usage.cachedTokens ?? null,
    cache_write_tokens: usage.cacheWriteTokens ?? null,
    reasoning_tokens: usage.reasoningTokens ?? null,
  },
  created_at: timeJson(createdAt),
})

export function usageJson(steps: readonly NewStep[]) {
  const prompt_tokens = steps.reduce((sum, { usage }) => sum + usage.promptTokens, 0)
  const completion_tokens = steps.reduce((sum, { usage }) => sum + usage.completionTokens, 0)
  return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens, step_count: steps.length }
}

export const timeJson = (at: number | undefined): string | null =>
  at === undefined ? null : new Date(at).toISOString()
