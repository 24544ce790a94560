import type { Json } from '../core/json.ts'
import type { SimulatedDialect } from './dialect.ts'
import { openaiErrorBody } from './openai-error-body.ts'
import { asList, asNumber, asText } from './request-fields.ts'
import {
  CREATED,
  closing,
  type Frame,
  laterId,
  type ResolvedCall,
  type ResolvedReply,
  type Responder,
  type Tokens,
} from './responder.ts'
import type { FinishName } from './script.ts'

const responder: Responder = {
  newline: '\n',
  ping: ': ping\n\n',
  frames(reply) {
    const opening = { ...envelope(reply, []), status: 'in_progress', usage: null, incomplete_details: null }
    const items = itemsOf(reply)
    const ending = wholeOf(reply)
    return numbered([
      { type: 'response.created', response: opening },
      { type: 'response.in_progress', response: opening },
      ...items.flatMap((item, index) => item.events.map((event) => ({ ...event, output_index: index }))),
      { type: cutBy(reply) ? 'response.incomplete' : 'response.completed', response: ending },
    ])
  },
  whole: (reply) => wholeOf(reply),
  errorFrame({ message, code, asFailed, position }, reply) {
    const failed = { ...envelope(reply, []), status: 'failed', error: { code, message }, usage: null }
    const event: Event = asFailed
      ? { type: 'response.failed', response: failed }
      : { type: 'error', code, message, param: null }
    return numbered([event], position)[0]!
  },
}

/** OpenAI Responses. */
export const openaiResponses: SimulatedDialect = {
  path: /\/responses$/,
  reader: {
    model: (fields) => asText(fields.model),
    streams: (fields) => fields.stream === true,
    messages: (fields) => (typeof fields.input === 'string' ? [fields.input] : asList(fields.input)),
    maxTokens: (fields) => asNumber(fields.max_output_tokens),
  },
  responder,
  errorBody: openaiErrorBody,
}

type Event = { type: string; [key: string]: Json }
type Item = { whole: Json; events: Event[] }

const numbered = (events: Event[], from = 0): Frame[] =>
  events.map((event, at) => {
    const frame = { event: event.type, data: JSON.stringify({ ...event, sequence_number: from + at }) }
    return CLOSERS.has(event.type) ? closing(frame) : frame
  })

const CLOSERS = new Set(['response.completed', 'response.incomplete', 'response.failed', 'error'])

const wholeOf = (reply: ResolvedReply): { [key: string]: Json } => ({
  ...envelope(
    reply,
    itemsOf(reply).map(({ whole }) => whole),
  ),
  status: cutBy(reply) ? 'incomplete' : 'completed',
  incomplete_details: cutBy(reply) ? { reason: cutBy(reply)! } : null,
  usage: reply.usage ? usageOf(reply.usage) : null,
})

/** Why the answer is incomplete, if it is. A refusal with text is complete. */
const cutBy = ({ finish, refusal }: ResolvedReply): string | undefined =>
  finish === 'refusal' && refusal !== undefined ? undefined : CUT_BY[finish]

const CUT_BY: Record<FinishName, string | undefined> = {
  stop: undefined,
  length: 'max_output_tokens',
  'tool-calls': undefined,
  refusal: 'content_filter',
  pause: undefined,
}

const envelope = ({ number, model }: ResolvedReply, output: Json[]) => ({
  id: `resp_simulator_${number}`,
  object: 'response',
  created_at: CREATED,
  error: null,
  instructions: null,
  metadata: {},
  model,
  output,
  parallel_tool_calls: true,
  temperature: 1,
  tool_choice: 'auto',
  tools: [],
  top_p: 1,
})

function itemsOf(reply: ResolvedReply): Item[] {
  return [
    ...(reply.reasoning ? [reasoningItem(reply)] : []),
    ...(reply.text === '' && reply.refusal === undefined ? [] : [messageItem(reply)]),
    ...reply.calls.map((call, at) => callItem(call, at, reply)),
  ]
}

function reasoningItem({ number, reasoning, pieces }: ResolvedReply): Item {
  const id = `rs_${number}`
  const text = reasoning?.text ?? ''
  const encrypted = reasoning?.encrypted ? { encrypted_content: reasoning.encrypted } : {}
  const part = { type: 'summary_text', text }
  const whole = { id, type: 'reasoning', summary: text === '' ? [] : [part], ...encrypted }
  const at = { item_id: id, summary_index: 0 }
  const summary: Event[] = [
    { type: 'response.reasoning_summary_part.added', ...at, part: { ...part, text: '' } },
    ...pieces(text).map((delta) => ({ type: 'response.reasoning_summary_text.delta', ...at, delta })),
    { type: 'response.reasoning_summary_text.done', ...at, text },
    { type: 'response.reasoning_summary_part.done', ...at, part },
  ]
  return {
    whole,
    events: [
      { type: 'response.output_item.added', item: { id, type: 'reasoning', summary: [] } },
      ...(text === '' ? [] : summary),
      { type: 'response.output_item.done', item: whole },
    ],
  }
}

function messageItem(reply: ResolvedReply): Item {
  const id = `msg_${reply.number}`
  const contents = [
    ...(reply.text === '' ? [] : [textContent(reply.text)]),
    ...(reply.refusal === undefined ? [] : [refusalContent(reply.refusal)]),
  ]
  const shell = { id, type: 'message', role: 'assistant' }
  const status = cutBy(reply) ? 'incomplete' : 'completed'
  const whole = { ...shell, status, content: contents.map(({ part }) => part) }
  const events = contents.flatMap(({ part, empty, text, kind, done }, content_index): Event[] => {
    const at = { item_id: id, content_index }
    return [
      { type: 'response.content_part.added', ...at, part: empty },
      ...reply.pieces(text).map((delta) => ({ type: `response.${kind}.delta`, ...at, delta })),
      { type: `response.${kind}.done`, ...at, ...done },
      { type: 'response.content_part.done', ...at, part },
    ]
  })
  return {
    whole,
    events: [
      { type: 'response.output_item.added', item: { ...shell, status: 'in_progress', content: [] } },
      ...events,
      { type: 'response.output_item.done', item: whole },
    ],
  }
}

const textContent = (text: string) => {
  const part = { type: 'output_text', annotations: [], logprobs: [], text }
  return { kind: 'output_text', text, part, empty: { ...part, text: '' }, done: { text, logprobs: [] } }
}

const refusalContent = (refusal: string) => {
  const part = { type: 'refusal', refusal }
  return { kind: 'refusal', text: refusal, part, empty: { ...part, refusal: '' }, done: { refusal } }
}

function callItem(call: ResolvedCall, position: number, reply: ResolvedReply): Item {
  const id = `fc_${reply.number}_${position + 1}`
  const shell = { id, type: 'function_call', name: call.name, call_id: call.id }
  const changed = reply.callIds === 'changed' ? { call_id: `${call.id}_changed_1` } : {}
  const whole = { ...shell, status: cutBy(reply) ? 'incomplete' : 'completed', arguments: call.json }
  return {
    whole,
    events: [
      { type: 'response.output_item.added', item: { ...shell, status: 'in_progress', arguments: '' } },
      ...reply.pieces(call.json).map((delta, piece) => {
        const itemId = laterId({ ...call, id }, reply, piece + 1) ?? id
        return { type: 'response.function_call_arguments.delta', item_id: itemId, delta }
      }),
      { type: 'response.function_call_arguments.done', item_id: id, name: call.name, arguments: call.json },
      { type: 'response.output_item.done', item: { ...whole, ...changed } },
    ],
  }
}

const usageOf = ({ input, output, cached, reasoning }: Tokens): Json => ({
  input_tokens: input,
  input_tokens_details: { cached_tokens: cached },
  output_tokens: output,
  output_tokens_details: { reasoning_tokens: reasoning },
  total_tokens: input + output,
})
