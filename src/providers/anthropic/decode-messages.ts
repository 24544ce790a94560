import type {
  MessageDeltaUsage,
  RawMessageStreamEvent,
  RefusalStopDetails,
  StopReason,
  Usage as VendorUsage,
} from '@anthropic-ai/sdk/resources/messages/messages'
import type { Part } from '../../core/answer.ts'
import { defined } from '../../core/defined.ts'
import type { Finish, Usage } from '../../core/event.ts'
import type { Failure } from '../../core/failure.ts'
import type { DecodeContext, Decoder } from '../wire/dialect.ts'

/** Every field of a received event may be missing. */
type Loose<T> = T extends object ? { [Key in keyof T]?: Loose<T[Key]> } : T
type Event = Loose<RawMessageStreamEvent | { type: 'error' } | { type: 'ping' }>
type EventOf<Type extends string> = Extract<Event, { type?: Type }>

type Block =
  | { type: 'thinking' }
  | { type: 'call'; index: number; hasJson: boolean; input: unknown }
  | { type: 'other' }

export function newMessagesDecoder({ provider, model, headers, classify }: DecodeContext): Decoder {
  const blocks = new Map<number, Block>()
  let calls = 0
  let hasText = false
  let lastBlock: Block['type'] = 'other'
  let counts: Counts = { fresh: 0, output: 0 }
  let stop: { reason: string; details?: Loose<RefusalStopDetails> | null } | undefined
  let isOver = false

  function take({ data }: { data: string }): Part[] {
    if (isOver || data === '[DONE]') return []
    const event = parse(data)
    if (!event) return fail(malformed(`an event of the stream is not a JSON object: ${data.slice(0, 200)}`))
    switch (event.type) {
      case 'message_start':
        return [usagePart((event as EventOf<'message_start'>).message?.usage)]
      case 'content_block_start':
        return startBlock(event as EventOf<'content_block_start'>)
      case 'content_block_delta':
        return addDelta(event as EventOf<'content_block_delta'>)
      case 'content_block_stop':
        return stopBlock(event as EventOf<'content_block_stop'>)
      case 'message_delta':
        return takeStop(event as EventOf<'message_delta'>)
      case 'message_stop':
        return end()
      case 'error':
        return fail({ ...classify({ provider, model, headers, body: data }), mayHaveBeenAccepted: true })
      default:
        // Pings and future event types.
        return []
    }
  }

  function startBlock({ index = 0, content_block: block }: EventOf<'content_block_start'>): Part[] {
    if (!block) return fail(malformed('a content block starts without its content'))
    const former = lastBlock
    lastBlock = block.type === 'thinking' ? 'thinking' : 'other'
    switch (block.type) {
      case 'text':
        blocks.set(index, { type: 'other' })
        return textPart(block.text)
      case 'thinking': {
        blocks.set(index, { type: 'thinking' })
        // Separates an empty thought from the thought directly before it, so that each keeps its own signature.
        const opening = block.thinking || former === 'thinking' ? [thought(block.thinking ?? '')] : []
        return block.signature ? [...opening, signed(block.signature)] : opening
      }
      case 'redacted_thinking':
        return block.data ? [{ type: 'redacted-reasoning', data: block.data, origin: 'anthropic' }] : []
      case 'tool_use': {
        const call: Block = { type: 'call', index: calls++, hasJson: false, input: block.input }
        blocks.set(index, call)
        return [{ type: 'call-start', index: call.index, callId: block.id ?? '', tool: block.name ?? '' }]
      }
      default:
        return []
    }
  }

  function addDelta({ index = 0, delta }: EventOf<'content_block_delta'>): Part[] {
    switch (delta?.type) {
      case 'text_delta':
        return textPart(delta.text)
      case 'thinking_delta':
        return delta.thinking ? [thought(delta.thinking)] : []
      case 'signature_delta':
        return delta.signature ? [signed(delta.signature)] : []
      case 'input_json_delta': {
        const call = blocks.get(index)
        if (call?.type !== 'call' || !delta.partial_json) return []
        call.hasJson = true
        return [{ type: 'call-delta', index: call.index, json: delta.partial_json }]
      }
      case undefined:
        return fail(malformed('a delta of the stream has no type'))
      default:
        return []
    }
  }

  /** A call without arguments has no deltas, and some servers send the whole input at the start. */
  function stopBlock({ index = 0 }: EventOf<'content_block_stop'>): Part[] {
    const call = blocks.get(index)
    if (call?.type !== 'call' || call.hasJson) return []
    return [{ type: 'call-delta', index: call.index, json: JSON.stringify(call.input ?? {}) }]
  }

  function takeStop({ delta, usage: latest }: EventOf<'message_delta'>): Part[] {
    if (delta?.stop_reason) stop = { reason: delta.stop_reason, details: delta.stop_details ?? null }
    return latest ? [usagePart(latest)] : []
  }

  function end(): Part[] {
    if (isOver || !stop) return []
    const outcome = outcomeOf(stop.reason, { hasText, hasCalls: calls > 0, details: stop.details })
    if (typeof outcome !== 'string') return fail(outcome)
    isOver = true
    return [{ type: 'finish', finish: outcome }]
  }

  function fail(failure: Failure): Part[] {
    isOver = true
    return [{ type: 'failure', failure }]
  }

  function textPart(text: string | undefined): Part[] {
    if (!text) return []
    hasText = true
    return [{ type: 'text-delta', text }]
  }

  function usagePart(latest: Loose<VendorUsage | MessageDeltaUsage> | undefined): Part {
    counts = { ...counts, ...readCounts(latest ?? {}) }
    return { type: 'usage', usage: usageOf(counts) }
  }

  return { take, end }
}

const thought = (text: string): Part => ({ type: 'reasoning-delta', text })
const signed = (signature: string): Part => ({ type: 'reasoning-signature', signature, origin: 'anthropic' })

type StopContext = { hasText: boolean; hasCalls: boolean; details: Loose<RefusalStopDetails> | null | undefined }

const OUTCOMES: Record<StopReason, (context: StopContext) => Finish | Failure> = {
  end_turn: () => 'stop',
  stop_sequence: () => 'stop',
  tool_use: () => 'tool-calls',
  max_tokens: () => 'length',
  // The vendor paused a long turn; the next request continues it.
  pause_turn: () => 'length',
  model_context_window_exceeded: ({ hasText, hasCalls }) =>
    hasText || hasCalls
      ? 'length'
      : { kind: 'context-overflow', detail: 'the context window was full before the answer began' },
  refusal: ({ details }) => ({
    kind: 'content-refused',
    detail: details?.explanation ?? 'the model refused to answer',
    ...defined({ code: details?.category ? details.category : undefined }),
  }),
}

function outcomeOf(reason: string, context: StopContext): Finish | Failure {
  if (!Object.hasOwn(OUTCOMES, reason)) return malformed(`unknown stop reason "${reason.slice(0, 100)}"`)
  const outcome = OUTCOMES[reason as StopReason](context)
  return typeof outcome === 'string' ? outcome : { ...outcome, mayHaveBeenAccepted: true }
}

type Counts = { fresh: number; cached?: number; written?: number; output: number; thinking?: number }

/** Counts are cumulative; one that is absent from a later event has not changed. */
function readCounts(latest: Loose<VendorUsage | MessageDeltaUsage>): Partial<Counts> {
  const counts = {
    fresh: latest.input_tokens,
    cached: latest.cache_read_input_tokens,
    written: latest.cache_creation_input_tokens,
    output: latest.output_tokens,
    thinking: latest.output_tokens_details?.thinking_tokens,
  }
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => isNumber(count)))
}

/** The vendor counts cached tokens separately from the rest of the prompt. */
const usageOf = ({ fresh, cached, written, output, thinking }: Counts): Usage => ({
  promptTokens: fresh + (cached ?? 0) + (written ?? 0),
  completionTokens: output,
  ...defined({ cachedTokens: cached, cacheWriteTokens: written, reasoningTokens: thinking }),
})

const isNumber = (value: unknown): value is number => typeof value === 'number'

const malformed = (detail: string): Failure => ({ kind: 'malformed-answer', detail, mayHaveBeenAccepted: true })

function parse(data: string): Event | undefined {
  try {
    const value: unknown = JSON.parse(data)
    return value !== null && typeof value === 'object' ? value : undefined
  } catch {
    return undefined
  }
}
