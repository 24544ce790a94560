import type { NumberedChunk } from '../../core/chunk.ts'
import type { ItemChange, OutputItem, OutputView } from './output-items.ts'
import type { WireResponse } from './wire/response.ts'

export type ResponseEvent = { type: string; sequence_number: number } & Record<string, unknown>

/**
 * Numbers of events follow from those of the chunks, so that a resumed stream counts like the first one. Each chunk has
 * room for this many.
 */
const EVENTS_OF_CHUNK = 100

type EventBody = { type: string } & Record<string, unknown>

type ResponseEvents = {
  /** The events before the first chunk: the response exists. */
  begin(response: WireResponse): ResponseEvent[]
  take(chunk: NumberedChunk): ResponseEvent[]
  end(chunk: NumberedChunk, response: WireResponse): ResponseEvent
}

/** Tells the changes of a view as the events of OpenAI's API. */
export function newResponseEvents(view: OutputView): ResponseEvents {
  let last = -1
  const numbered = (body: EventBody, atLeast = 0): ResponseEvent => {
    last = Math.max(last + 1, atLeast)
    return { ...body, sequence_number: last }
  }
  return {
    begin: (response) => {
      const queued: WireResponse = { ...response, status: 'queued' }
      const running: WireResponse = { ...response, status: 'in_progress' }
      const events = response.background
        ? [
            { type: 'response.created', response: queued },
            { type: 'response.queued', response: queued },
          ]
        : [{ type: 'response.created', response: running }]
      return [...events, { type: 'response.in_progress', response: running }].map((event) => numbered(event))
    },
    take: ({ number, chunk }) =>
      view
        .take(chunk)
        .flatMap(toEvents)
        .map((body) => numbered(body, number * EVENTS_OF_CHUNK)),
    end: ({ number }, response) => numbered({ type: END[response.status], response }, number * EVENTS_OF_CHUNK),
  }
}

/** There is no event for a response that was cancelled: its status says so. */
const END: Record<WireResponse['status'], string> = {
  queued: 'response.incomplete',
  in_progress: 'response.incomplete',
  completed: 'response.completed',
  failed: 'response.failed',
  cancelled: 'response.incomplete',
  incomplete: 'response.incomplete',
}

function toEvents(change: ItemChange): EventBody[] {
  const { type, index: output_index, item } = change
  const place = { item_id: item.id, output_index }
  switch (type) {
    case 'added':
      return [{ type: 'response.output_item.added', output_index, item }, ...begin(item, place)]
    case 'done':
      return [...finish(item, place), { type: 'response.output_item.done', output_index, item }]
    case 'text':
      return [{ type: 'response.output_text.delta', ...place, content_index: 0, delta: change.delta, logprobs: [] }]
    case 'reasoning':
      return [{ type: 'response.reasoning_text.delta', ...place, content_index: 0, delta: change.delta }]
    case 'arguments': {
      const name = item.type === 'mcp_call' ? 'mcp_call_arguments' : 'function_call_arguments'
      return [{ type: `response.${name}.delta`, ...place, delta: change.delta }]
    }
  }
}

type Place = { item_id: string; output_index: number }

function begin(item: OutputItem, place: Place): EventBody[] {
  switch (item.type) {
    case 'message': {
      const part = { type: 'output_text', text: '', annotations: [], logprobs: [] }
      return [{ type: 'response.content_part.added', ...place, content_index: 0, part }]
    }
    case 'reasoning':
      return [
        { type: 'response.content_part.added', ...place, content_index: 0, part: { type: 'reasoning_text', text: '' } },
      ]
    case 'mcp_call':
      return [{ type: 'response.mcp_call.in_progress', ...place }]
    case 'function_call':
    case 'mcp_approval_request':
      return []
  }
}

function finish(item: OutputItem, place: Place): EventBody[] {
  const at = { ...place, content_index: 0 }
  switch (item.type) {
    case 'message': {
      const part = item.content[0] ?? { type: 'output_text' as const, text: '', annotations: [], logprobs: [] }
      return [
        { type: 'response.output_text.done', ...at, text: part.text, logprobs: [] },
        { type: 'response.content_part.done', ...at, part },
      ]
    }
    case 'reasoning': {
      const part = item.content[0] ?? { type: 'reasoning_text' as const, text: '' }
      return [
        { type: 'response.reasoning_text.done', ...at, text: part.text },
        { type: 'response.content_part.done', ...at, part },
      ]
    }
    case 'function_call':
      return [
        {
          type: 'response.function_call_arguments.done',
          ...place,
          name: item.name,
          arguments: item.arguments,
        },
      ]
    case 'mcp_call':
      return [
        { type: 'response.mcp_call_arguments.done', ...place, arguments: item.arguments },
        { type: item.status === 'failed' ? 'response.mcp_call.failed' : 'response.mcp_call.completed', ...place },
      ]
    case 'mcp_approval_request':
      return []
  }
}
