import { defined } from '../../core/defined.ts'
import type { LoggedEvent } from '../../core/event.ts'
import { parseId, type RunId } from '../../core/id.ts'
import type { JsonObject } from '../../core/json.ts'
import { Problem } from '../../core/problem.ts'
import { phaseOf, type Run, type RunPhase, type StopReason } from '../../core/run.ts'
import { usageOfRun } from '../../core/usage.ts'
import { findAgent } from '../../service/agents/agents.ts'
import type { ServiceContext } from '../../service/service-context.ts'
import { type OutputItem, outputOf, outputOptions } from './output-items.ts'
import type { WireResponse } from './wire/response.ts'

/** A response is a run: its id is that of the run with another prefix. */
export const responseIdOf = (runId: RunId): string => `resp_${runId.slice('run-'.length)}`

export const runIdOf = (responseId: string): RunId | undefined =>
  responseId.startsWith('resp_') ? parseId('run', `run-${responseId.slice('resp_'.length)}`) : undefined

/** The run of a response; one that was deleted as a response looks missing. */
export async function requireResponseRun(id: string, context: ServiceContext, param = 'response_id'): Promise<Run> {
  const { deps, organizationId } = context
  const runId = runIdOf(id)
  const run = runId && (await deps.store.runs.get(organizationId, runId))
  if (run && !(await deps.store.openai.isResponseDeleted(organizationId, run.id))) return run
  const code = param === 'previous_response_id' ? 'previous_response_not_found' : 'not_found'
  throw new Problem('not-found', `There is no response "${id.slice(0, 100)}".`, { param, code })
}

/** The response as the log of its run has it now. */
export async function readResponse(run: Run, context: ServiceContext): Promise<WireResponse> {
  const events = await context.deps.store.events.read(run.id, 0)
  const first = events[0]?.event
  const output = first?.type === 'input-accepted' ? outputOf(events, outputOptions(first)) : []
  const current = (await context.deps.store.runs.get(context.organizationId, run.id)) ?? run
  return toResponse({ run: current, output, events, model: await modelOf(current, context) })
}

/** The model that the request named; for runs of other entrances the agent. */
export async function modelOf(run: Run, context: ServiceContext): Promise<string> {
  const { model } = echoOf(run)
  if (typeof model === 'string') return model
  const agent = await findAgent(run.agentId, context)
  return agent ? `agent:${agent.name}` : run.agentId
}

const echoOf = ({ metadata }: Run): JsonObject => {
  const echo = (metadata as JsonObject | null)?.openai
  return echo !== null && typeof echo === 'object' && !Array.isArray(echo) ? echo : {}
}

type ResponseParts = { run: Run; output: OutputItem[]; events: readonly LoggedEvent[]; model: string }

function toResponse({ run, output, events, model }: ResponseParts): WireResponse {
  const echo = echoOf(run)
  const status = statusOf(run)
  const metadata = run.metadata as JsonObject | null
  const isOver = status !== 'queued' && status !== 'in_progress'
  return {
    id: responseIdOf(run.id),
    object: 'response',
    created_at: seconds(run.createdAt),
    completed_at: run.completedAt === undefined ? null : seconds(run.completedAt),
    status,
    background: run.background,
    error: status === 'failed' ? { code: errorCode(run), message: run.error?.message ?? 'The run failed.' } : null,
    incomplete_details: status === 'incomplete' ? { reason: INCOMPLETE[run.stopReason!] ?? 'max_output_tokens' } : null,
    model,
    output,
    output_text: output
      .flatMap((item) => (item.type === 'message' ? item.content.map(({ text }) => text) : []))
      .join(''),
    conversation: { id: run.conversationId },
    previous_response_id: textOr(echo.previous_response_id),
    instructions: textOr(echo.instructions),
    max_output_tokens: typeof echo.max_output_tokens === 'number' ? echo.max_output_tokens : null,
    metadata: (echo.metadata ?? {}) as Record<string, string>,
    parallel_tool_calls: echo.parallel_tool_calls !== false,
    reasoning: (echo.reasoning as WireResponse['reasoning']) ?? null,
    temperature: typeof echo.temperature === 'number' ? echo.temperature : null,
    top_p: typeof echo.top_p === 'number' ? echo.top_p : null,
    text: (echo.text as WireResponse['text']) ?? { format: { type: 'text' } },
    tool_choice: echo.tool_choice === 'none' ? 'none' : 'auto',
    tools: (echo.tools ?? []) as WireResponse['tools'],
    truncation: 'disabled',
    usage: isOver ? responseUsage(events) : null,
    user: textOr(echo.user),
    on_guarded: metadata?.on_guarded === 'ask' ? 'ask' : 'deny',
    run_id: run.id,
  }
}

const textOr = (value: unknown): string | null => (typeof value === 'string' ? value : null)

export const seconds = (at: number): number => Math.floor(at / 1000)

const STATUS: Record<RunPhase, WireResponse['status']> = {
  created: 'queued',
  running: 'in_progress',
  // The open calls are in the output: the next request brings their results.
  waiting: 'completed',
  completed: 'completed',
  failed: 'failed',
  cancelled: 'cancelled',
}

const INCOMPLETE: Partial<Record<StopReason, 'max_output_tokens' | 'max_steps'>> = {
  max_tokens_exceeded: 'max_output_tokens',
  max_steps: 'max_steps',
}

export function statusOf(run: Run): WireResponse['status'] {
  if (run.stopReason && INCOMPLETE[run.stopReason]) return 'incomplete'
  return STATUS[phaseOf(run)]
}

const errorCode = ({ stopReason, error }: Run): string => {
  if (stopReason === 'insufficient_credits') return 'insufficient_quota'
  return error?.errorType === 'llm_rate_limit' ? 'rate_limit_exceeded' : (error?.errorType ?? 'server_error')
}

function responseUsage(events: readonly LoggedEvent[]) {
  const { promptTokens, completionTokens, cachedTokens = 0, reasoningTokens = 0 } = usageOfRun(events)
  return {
    input_tokens: promptTokens,
    input_tokens_details: { cached_tokens: cachedTokens },
    output_tokens: completionTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: promptTokens + completionTokens,
  }
}

/** The response before anything was answered: what the first events of a stream show. */
export const freshResponse = (run: Run, model: string, status: WireResponse['status']): WireResponse => ({
  ...toResponse({ run, output: [], events: [], model }),
  ...defined({ status, completed_at: null, error: null, incomplete_details: null, usage: null }),
})
