import { defined } from './defined.ts'
import type { TurnEvent } from './event.ts'
import type { MessageId } from './id.ts'
import type { AnswerPart } from './message.ts'
import { type ErrorType, type StopReason, type WaitSettings, waitsForAnswer } from './run.ts'
import type { ToolCall } from './tool-call.ts'
import { type Turn, targetsOf } from './turn.ts'

/** One item of a live stream, in the format of the official client where it has one. */
export type Chunk =
  | { message_type: 'assistant_message'; id: MessageId; content: string }
  | { message_type: 'reasoning_message'; id: MessageId; reasoning: string }
  /** Arguments of a call while the model writes them. The whole call follows in a chunk of the answer's event. */
  | ({ message_type: 'tool_call_delta'; id: MessageId } & CallDelta)
  | { message_type: 'tool_call_message'; id: MessageId; tool_calls: WireCall[] }
  | { message_type: 'approval_request_message'; id: MessageId; tool_calls: WireCall[] }
  | { message_type: 'tool_return_message'; id: MessageId; name: string; tool_return: WireReturn }
  | { message_type: 'stop_reason'; stop_reason: StopReason }
  | { message_type: 'error_message'; error_type: ErrorType; message: string; detail: string | null }
  | {
      message_type: 'usage_statistics'
      prompt_tokens: number
      completion_tokens: number
      total_tokens: number
      step_count: number
      cached_input_tokens?: number
      cache_write_tokens?: number
      reasoning_tokens?: number
    }
  /** From here on Holdfast's own types; sent as named SSE events, which the official client skips. */
  | { message_type: 'message_reset'; id: MessageId | null; reason: string }
  | {
      message_type: 'attempt_failed'
      target: string
      kind: string
      detail: string
      remedy: string
      /** The next target, if the turn fails over to one. */
      next_target?: string
      /** The pause before the next attempt. */
      wait_ms?: number
    }
  /** A summary now replaces the earlier messages in the model's context. */
  | { message_type: 'summary_message'; id: MessageId; summary: string }
  | { message_type: 'tool_progress'; tool_call_id: string; text: string }
  /** The worker died and another one continues the run. Calls that may run again are repeated. */
  | { message_type: 'worker_lost'; deaths: number }
  /** The terminal chunk: exactly one, the last. */
  | { message_type: 'done' }

/** `name` and `needs_approval` (the whole call will wait for a person) are in the first piece only. */
export type CallDelta = { tool_call_id: string; name?: string; needs_approval?: true; arguments: string }
export type WireCall = { tool_call_id: string; name: string; arguments: string; is_speech?: true }
export type WireReturn = {
  tool_call_id: string
  status: 'success' | 'error'
  tool_return: string
  stdout?: string
  stderr?: string
}

/**
 * A chunk with its number in the run's stream. `event` is the event it renders, 0 if it renders none. `at` is the second
 * in which it was said, in milliseconds; streams that were written before it was stored have none.
 */
export type NumberedChunk = { number: number; event: number; at?: number; chunk: Chunk }

/**
 * The chunks for a committed event. `turn` is the turn before it; `streamed` is the part of an answer that the stream
 * already holds and that is not sent again.
 */
export function renderEvent(turn: Turn, event: TurnEvent, streamed: StreamedSoFar): Chunk[] {
  // The stream of a run ends when it starts to wait for approval; the continuing run streams what follows.
  if (turn.phase !== 'going') return []
  switch (event.type) {
    case 'answer-received':
      return [...renderContent(event, streamed), ...renderRestOfCalls(event, streamed), ...renderCalls(turn, event)]
    case 'answer-cut':
      return renderContent(event, streamed)
    case 'attempt-failed': {
      const { failure, remedy, target, kept, nextTarget, purpose, waitMs } = event
      const targets = targetsOf(turn.settings, purpose)
      const { kind, detail } = failure
      const next = nextTarget === undefined ? undefined : targets[nextTarget]
      const dropped = remedy === 'next-target' && purpose !== 'summary' && turn.attempts.answer.kept
      return [
        ...(kept ? renderContent(kept, streamed) : []),
        // The next target does not continue the kept text; it starts a new answer.
        ...(dropped ? [{ message_type: 'message_reset' as const, id: dropped.answerId, reason: kind }] : []),
        {
          message_type: 'attempt_failed',
          target: targets[target] ?? '',
          kind,
          detail,
          remedy,
          ...defined({ next_target: next || undefined, wait_ms: waitMs }),
        },
      ]
    }
    case 'context-compacted':
      // A summary for one turn is no message of the conversation.
      if (event.text === '' || event.forTurn) return []
      return [{ message_type: 'summary_message', id: event.summaryId, summary: event.text }]
    case 'tool-ended': {
      const { callId, status, output, stdout, stderr } = event.outcome
      const wire: WireReturn = {
        tool_call_id: callId,
        status: status === 'success' ? 'success' : 'error',
        tool_return: output,
        ...defined({ stdout, stderr }),
      }
      const name = turn.step?.calls.find((call) => call.callId === callId)?.tool ?? ''
      return turn.step
        ? [{ message_type: 'tool_return_message', id: turn.step.resultsId, name, tool_return: wire }]
        : []
    }
    case 'worker-lost':
      return [{ message_type: 'worker_lost', deaths: turn.deaths + 1 }]
    case 'turn-ended':
      return [...resetKeptText(turn, event), ...renderEnd(turn, event)]
    case 'summary-extended':
    case 'input-accepted':
    case 'input-steered':
    case 'tool-started':
    case 'approval-answered':
    case 'cancel-requested':
    case 'fault-met':
      return []
  }
}

/**
 * How much of an answer its stream holds: everything that is streamed before the event, or this prefix of its text, its
 * reasoning and the arguments of its calls, by call id.
 */
export type StreamedSoFar = 'all' | { text: string; reasoning: string; calls: ReadonlyMap<string, string> }

export const NOTHING_STREAMED: StreamedSoFar = { text: '', reasoning: '', calls: new Map() }

/** Content that was streamed under an id: an answer, or text that the next attempt continues. */
type StreamedContent = { answerId: MessageId; content: AnswerPart[]; calls?: ToolCall[]; streamedTo: number }

/** The content of a committed event that may have been streamed as it arrived. */
export function streamedContentOf(event: TurnEvent): StreamedContent | undefined {
  if (event.type === 'attempt-failed') return event.kept
  return event.type === 'answer-received' || event.type === 'answer-cut' ? event : undefined
}

/** Whether what was streamed is a prefix of this answer; otherwise it belongs to another attempt. */
export function hasPrefix(
  { content, calls = [] }: Pick<StreamedContent, 'content' | 'calls'>,
  streamed: Exclude<StreamedSoFar, 'all'>,
): boolean {
  const whole = (type: 'text' | 'reasoning') =>
    content.flatMap((part) => (part.type === type ? [part.text] : [])).join('')
  const isCallPrefix = ([callId, text]: [string, string]) =>
    calls.some((call) => call.callId === callId && argumentsText(call).startsWith(text))
  return (
    whole('text').startsWith(streamed.text) &&
    whole('reasoning').startsWith(streamed.reasoning) &&
    [...streamed.calls].every(isCallPrefix)
  )
}

export const waitsForApproval = (call: Pick<ToolCall, 'tool' | 'needsApproval'>, settings: WaitSettings): boolean =>
  call.needsApproval && waitsForAnswer(call.tool, settings)

/** The arguments of a call as they are streamed and shown. */
export const argumentsText = ({ input }: Pick<ToolCall, 'input'>): string => JSON.stringify(input)

/** What a call says that is shown as an assistant message; it has a chunk of its own. */
export function spokenText([call]: readonly WireCall[]): string | undefined {
  if (!call?.is_speech) return undefined
  const { message } = JSON.parse(call.arguments) as { message?: unknown }
  return typeof message === 'string' ? message : undefined
}

function renderContent(
  { answerId, content }: Pick<StreamedContent, 'answerId' | 'content'>,
  streamed: StreamedSoFar,
): Chunk[] {
  if (streamed === 'all') return []
  const skip = { text: streamed.text.length, reasoning: streamed.reasoning.length }
  return content.flatMap((part): Chunk[] => {
    if (part.type === 'redacted-reasoning' || part.type === 'encrypted-reasoning') return []
    const rest = part.text.slice(skip[part.type])
    skip[part.type] = Math.max(0, skip[part.type] - part.text.length)
    if (rest === '') return []
    if (part.type === 'text') return [{ message_type: 'assistant_message', id: answerId, content: rest }]
    return [{ message_type: 'reasoning_message', id: answerId, reasoning: rest }]
  })
}

/** The rest of arguments of which a dead writer had streamed the beginning. */
function renderRestOfCalls(
  { answerId, calls }: Extract<TurnEvent, { type: 'answer-received' }>,
  streamed: StreamedSoFar,
): Chunk[] {
  if (streamed === 'all') return []
  return calls.flatMap((call): Chunk[] => {
    const rest = argumentsText(call).slice(streamed.calls.get(call.callId)?.length ?? Number.POSITIVE_INFINITY)
    if (rest === '') return []
    return [{ message_type: 'tool_call_delta', id: answerId, tool_call_id: call.callId, arguments: rest }]
  })
}

function renderCalls(turn: Turn, event: Extract<TurnEvent, { type: 'answer-received' }>): Chunk[] {
  const guarded = event.calls.filter((call) => waitsForApproval(call, turn.settings))
  const spoken = event.calls.filter((call) => call.isSpeech)
  const free = event.calls.filter((call) => !call.isSpeech && !guarded.includes(call))
  const wire = (calls: typeof free): WireCall[] =>
    calls.map((call) => ({
      tool_call_id: call.callId,
      name: call.tool,
      arguments: argumentsText(call),
      ...defined({ is_speech: call.isSpeech }),
    }))
  const id = event.answerId
  return [
    // One chunk each, because each is a message of its own.
    ...spoken.map((call) => ({ message_type: 'tool_call_message' as const, id, tool_calls: wire([call]) })),
    ...(free.length > 0 ? [{ message_type: 'tool_call_message' as const, id, tool_calls: wire(free) }] : []),
    ...(guarded.length > 0
      ? [{ message_type: 'approval_request_message' as const, id, tool_calls: wire(guarded) }]
      : []),
  ]
}

/** Resets kept text that was never continued: no message holds it. */
function resetKeptText(turn: Turn, { stopReason }: Extract<TurnEvent, { type: 'turn-ended' }>): Chunk[] {
  const { kept } = turn.attempts.answer
  return kept ? [{ message_type: 'message_reset', id: kept.answerId, reason: stopReason }] : []
}

function renderEnd(turn: Turn, { stopReason, error }: Extract<TurnEvent, { type: 'turn-ended' }>): Chunk[] {
  const stop: Chunk = { message_type: 'stop_reason', stop_reason: stopReason }
  if (error) {
    const { errorType, message, detail } = error
    const errorChunk: Chunk = { message_type: 'error_message', error_type: errorType, message, detail: detail ?? null }
    return [stop, errorChunk, { message_type: 'done' }]
  }
  if (stopReason === 'cancelled') return [stop, { message_type: 'done' }]
  const { promptTokens, completionTokens, cachedTokens, cacheWriteTokens, reasoningTokens } = turn.usage
  const usage: Chunk = {
    message_type: 'usage_statistics',
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    step_count: turn.steps,
    ...defined({
      cached_input_tokens: cachedTokens,
      cache_write_tokens: cacheWriteTokens,
      reasoning_tokens: reasoningTokens,
    }),
  }
  return [stop, usage, { message_type: 'done' }]
}
