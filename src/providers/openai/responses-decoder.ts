import type {
  Response,
  ResponseFunctionToolCall,
  ResponseOutputItem,
  ResponseStreamEvent,
  ResponseUsage,
} from 'openai/resources/responses/responses'
import type { Part } from '../../core/answer.ts'
import { defined } from '../../core/defined.ts'
import type { Usage } from '../../core/event.ts'
import type { Failure } from '../../core/failure.ts'
import type { DecodeContext, Decoder } from '../wire/dialect.ts'
import { toStreamFailure } from './stream-error.ts'
import { newCallId } from './wire-names.ts'

type Slot = { index: number; hasJson: boolean }

/** Reads the typed events of one response; its last event states how it ended. */
export function newResponsesDecoder(context: DecodeContext): Decoder {
  const calls = new Map<string, Slot>()
  const callIds = new Set<string>()
  const textIn = new Set<string>()
  let refused = ''

  function startCall(item: ResponseFunctionToolCall, key: string): Part[] {
    const known = calls.get(key)
    const slot = known ?? { index: calls.size, hasJson: false }
    calls.set(key, slot)
    if (known) return NOTHING
    // Outcomes refer to calls by id, so ids must be unique.
    const callId = item.call_id && !callIds.has(item.call_id) ? item.call_id : newCallId()
    callIds.add(callId)
    return [{ type: 'call-start', index: slot.index, callId, tool: item.name }]
  }

  function callJson(key: string, json: string): Part[] {
    const slot = calls.get(key)
    if (!slot || json === '') return NOTHING
    slot.hasJson = true
    return [{ type: 'call-delta', index: slot.index, json }]
  }

  /** The last event of an item repeats its content; only content without deltas is emitted here. */
  function endItem(item: ResponseOutputItem, key: string): Part[] {
    switch (item.type) {
      case 'function_call': {
        const start = startCall(item, key)
        return calls.get(key)!.hasJson ? start : [...start, ...callJson(key, item.arguments ?? '')]
      }
      case 'reasoning': {
        const { id: itemId, encrypted_content: data } = item
        return data ? [{ type: 'encrypted-reasoning', itemId, data, origin: 'openai-responses' }] : NOTHING
      }
      case 'message': {
        if (textIn.has(key)) return NOTHING
        const text = item.content.map((part) => (part.type === 'output_text' ? part.text : '')).join('')
        return text === '' ? NOTHING : [{ type: 'text-delta', text }]
      }
    }
    return NOTHING
  }

  function complete({ usage }: Response): Part[] {
    if (refused !== '') return [...usageParts(usage), failed(refusedWith(refused))]
    return [...usageParts(usage), { type: 'finish', finish: calls.size > 0 ? 'tool-calls' : 'stop' }]
  }

  function takeEvent(event: ResponseStreamEvent): Part[] {
    switch (event.type) {
      case 'response.output_text.delta':
        textIn.add(String(event.output_index))
        return event.delta === '' ? NOTHING : [{ type: 'text-delta', text: event.delta }]
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        return event.delta === '' ? NOTHING : [{ type: 'reasoning-delta', text: event.delta }]
      case 'response.reasoning_summary_part.added':
        return event.summary_index > 0 ? [{ type: 'reasoning-delta', text: '\n\n' }] : NOTHING
      case 'response.function_call_arguments.delta':
        return callJson(String(event.output_index), event.delta)
      case 'response.output_item.added':
        return event.item.type === 'function_call' ? startCall(event.item, String(event.output_index)) : NOTHING
      case 'response.output_item.done':
        return endItem(event.item, String(event.output_index))
      case 'response.refusal.delta':
        refused += event.delta
        return NOTHING
      case 'response.refusal.done':
        refused ||= event.refusal
        return NOTHING
      case 'response.completed':
        return complete(event.response)
      case 'response.incomplete':
        return incomplete(event.response)
      case 'response.failed':
        return [failed(toStreamFailure({ error: event.response.error ?? 'the response failed' }, context))]
      case 'error':
        return [failed(toStreamFailure(event as { error?: unknown }, context))]
    }
    return NOTHING
  }

  return {
    take({ data }) {
      if (data === '[DONE]') return NOTHING
      const event = parseEvent(data)
      if (!event) return [malformed(`an event is not a JSON object with a type: ${data.slice(0, 200)}`)]
      try {
        return takeEvent(event)
      } catch {
        // An event of a known type lacks a field.
        return [malformed(`the event ${event.type} lacks required fields: ${data.slice(0, 200)}`)]
      }
    },
    end: () => NOTHING,
  }
}

const NOTHING: Part[] = []

function parseEvent(data: string): ResponseStreamEvent | undefined {
  try {
    const value = JSON.parse(data) as { type?: unknown; error?: unknown } | null
    if (value === null || typeof value !== 'object') return undefined
    // Proxies put the error object of a plain response into the stream.
    if (value.type === undefined && value.error) return { ...value, type: 'error' } as unknown as ResponseStreamEvent
    return typeof value.type === 'string' ? (value as ResponseStreamEvent) : undefined
  } catch {
    return undefined
  }
}

function incomplete({ usage, incomplete_details: details }: Response): Part[] {
  const reason = details?.reason
  if (reason === 'max_output_tokens') return [...usageParts(usage), { type: 'finish', finish: 'length' }]
  const failure: Failure =
    reason === 'content_filter'
      ? { kind: 'content-refused', detail: 'the content filter of the provider stopped the answer' }
      : { kind: 'cut-off', detail: `the provider left the answer incomplete: ${reason ?? 'no reason given'}` }
  return [...usageParts(usage), failed({ ...failure, ...defined({ code: reason }), mayHaveBeenAccepted: true })]
}

function usageParts(stated: ResponseUsage | null | undefined): Part[] {
  if (!stated) return []
  const usage: Usage = { promptTokens: stated.input_tokens, completionTokens: stated.output_tokens }
  const { cached_tokens: cached, cache_write_tokens: written } = stated.input_tokens_details ?? {}
  const reasoning = stated.output_tokens_details?.reasoning_tokens
  if (typeof cached === 'number') usage.cachedTokens = cached
  if (typeof written === 'number') usage.cacheWriteTokens = written
  if (typeof reasoning === 'number') usage.reasoningTokens = reasoning
  return [{ type: 'usage', usage }]
}

const failed = (failure: Failure): Part => ({ type: 'failure', failure })

const malformed = (detail: string): Part =>
  failed({ kind: 'malformed-answer', detail: detail, mayHaveBeenAccepted: true })

const refusedWith = (words: string): Failure => ({
  kind: 'content-refused',
  code: 'refusal',
  detail: words,
  mayHaveBeenAccepted: true,
})
