import type { ChatCompletionChunk } from 'openai/resources/chat/completions'
import type { CompletionUsage } from 'openai/resources/completions'
import type { Part } from '../../core/answer.ts'
import type { Finish, Usage } from '../../core/event.ts'
import type { Failure } from '../../core/failure.ts'
import type { DecodeContext, Decoder } from '../wire/dialect.ts'
import { type CallDelta, newCallSlots } from './call-slots.ts'
import { type Detail, signatureOf } from './reasoning-details.ts'
import { toStreamFailure } from './stream-error.ts'

/** OpenAI's chunk, with the fields that compatible servers add or omit. */
type Chunk = Omit<Partial<ChatCompletionChunk>, 'choices' | 'usage'> & {
  choices?: { delta?: Delta | null; finish_reason?: string | null }[] | null
  usage?: WireUsage | null
  x_groq?: { usage?: WireUsage | null } | null
  error?: unknown
}
type Delta = Omit<ChatCompletionChunk.Choice.Delta, 'content' | 'tool_calls'> & {
  content?: string | ContentPiece[] | null
  tool_calls?: CallDelta[] | null
  reasoning_content?: string | null
  reasoning?: string | null
  reasoning_details?: Detail[] | null
}
/** Mistral's reasoning models send pieces instead of a string. */
type ContentPiece = { type: string; text?: string; thinking?: { text?: string }[] }
type WireUsage = Partial<CompletionUsage> & { prompt_cache_hit_tokens?: number }

/** The finish reason arrives before the usage, so it is held until the stream ends. */
export function newChatDecoder(context: DecodeContext): Decoder {
  const calls = newCallSlots()
  const details: Detail[] = []
  let usage: Usage | undefined
  let reason: string | undefined
  let refused = ''

  function takeDelta(delta: Delta, parts: Part[]): void {
    const thought = delta.reasoning_content || delta.reasoning
    if (thought) parts.push({ type: 'reasoning-delta', text: thought })
    if (delta.reasoning_details) details.push(...delta.reasoning_details)
    if (typeof delta.content === 'string') {
      if (delta.content !== '') parts.push({ type: 'text-delta', text: delta.content })
    } else if (delta.content) for (const piece of delta.content) takePiece(piece, parts)
    if (delta.refusal) refused += delta.refusal
    if (delta.tool_calls) for (const call of delta.tool_calls) calls.take(call, parts)
  }

  function finalParts(): Part[] {
    const parts: Part[] = []
    const signature = signatureOf(details)
    if (signature) parts.push({ type: 'reasoning-signature', signature, origin: 'openai-chat' })
    if (usage) parts.push({ type: 'usage', usage })
    if (reason === undefined) return parts
    const failure = refused === '' ? failureOf(reason) : refusedWith(refused)
    if (failure) parts.push({ type: 'failure', failure: { mayHaveBeenAccepted: true, ...failure } })
    else parts.push({ type: 'finish', finish: finishOf(reason, calls.count()) })
    return parts
  }

  function takeChunk(chunk: Chunk, event: string | undefined): Part[] {
    if (chunk.error || event === 'error' || isBareError(chunk))
      return [{ type: 'failure', failure: toStreamFailure(chunk, context) }]
    const stated = chunk.usage ?? chunk.x_groq?.usage
    if (stated) usage = usageOf(stated)
    const choice = chunk.choices?.[0]
    if (!choice) return NOTHING
    const parts: Part[] = []
    if (choice.delta) takeDelta(choice.delta, parts)
    if (choice.finish_reason) reason = choice.finish_reason
    return parts
  }

  return {
    take({ event, data }) {
      if (data === '[DONE]') return finalParts()
      const chunk = parseChunk(data)
      if (!chunk) return [malformed(`a chunk is not a JSON object: ${data.slice(0, 200)}`)]
      try {
        return takeChunk(chunk, event)
      } catch {
        // A field has an unexpected type.
        return [malformed(`a chunk cannot be read: ${data.slice(0, 200)}`)]
      }
    },
    end: finalParts,
  }
}

const NOTHING: Part[] = []

function takePiece({ type, text, thinking }: ContentPiece, parts: Part[]): void {
  if (type === 'text' && text) parts.push({ type: 'text-delta', text })
  for (const thought of thinking ?? []) if (thought.text) parts.push({ type: 'reasoning-delta', text: thought.text })
}

function parseChunk(data: string): Chunk | undefined {
  try {
    const value: unknown = JSON.parse(data)
    return value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Chunk) : undefined
  } catch {
    return undefined
  }
}

const malformed = (detail: string): Part => ({
  type: 'failure',
  failure: { kind: 'malformed-answer', detail, mayHaveBeenAccepted: true },
})

/** Some servers send the error object without an envelope. */
const isBareError = (chunk: Chunk): boolean => (chunk.object as string | undefined) === 'error'

/** Finish reasons that mean a length limit; all others mean that the model is done. */
const FINISHES: Record<string, Finish> = { length: 'length', max_tokens: 'length', model_length: 'length' }

/** Finish reasons that are failures: the server gave up or filtered the answer. */
const FAILURES: Record<string, Failure> = {
  content_filter: { kind: 'content-refused', detail: 'the content filter of the provider stopped the answer' },
  error: { kind: 'server-error', detail: 'the provider ended the answer with an error' },
  abort: { kind: 'cut-off', detail: 'the provider aborted the answer' },
  insufficient_system_resource: { kind: 'overloaded', detail: 'the provider ran out of resources in mid-answer' },
}

const failureOf = (reason: string): Failure | undefined =>
  Object.hasOwn(FAILURES, reason) ? { ...FAILURES[reason]!, code: reason } : undefined

const refusedWith = (words: string): Failure => ({ kind: 'content-refused', code: 'refusal', detail: words })

/** Servers send `stop` after calls and `tool_calls` without any, so the received calls decide. */
function finishOf(reason: string, calls: number): Finish {
  const stated = Object.hasOwn(FINISHES, reason) ? FINISHES[reason] : undefined
  return stated ?? (calls > 0 ? 'tool-calls' : 'stop')
}

function usageOf(stated: WireUsage): Usage {
  const usage: Usage = { promptTokens: stated.prompt_tokens ?? 0, completionTokens: stated.completion_tokens ?? 0 }
  const cached = stated.prompt_tokens_details?.cached_tokens ?? stated.prompt_cache_hit_tokens
  const written = stated.prompt_tokens_details?.cache_write_tokens
  const reasoning = stated.completion_tokens_details?.reasoning_tokens
  if (typeof cached === 'number') usage.cachedTokens = cached
  if (typeof written === 'number') usage.cacheWriteTokens = written
  if (typeof reasoning === 'number') usage.reasoningTokens = reasoning
  return usage
}
