import { defined } from '../core/defined.ts'
import type { Json } from '../core/json.ts'
import type { SimulatedDialect } from './dialect.ts'
import { ERRORS } from './error-table.ts'
import { asList, asNumber, asText } from './request-fields.ts'
import { closing, type Frame, type ResolvedCall, type ResolvedReply, type Responder, type Tokens } from './responder.ts'
import type { FinishName } from './script.ts'

const responder: Responder = {
  newline: '\n',
  ping: 'event: ping\ndata: {"type": "ping"}\n\n',
  frames(reply) {
    const usage = reply.usage && usageOf(reply.usage)
    const opening = {
      ...head(reply),
      content: [],
      stop_reason: null,
      stop_sequence: null,
      ...defined({ usage: usage ? { ...usage, output_tokens: 1 } : undefined }),
    }
    return [
      event({ type: 'message_start', message: opening }),
      ...blocksOf(reply).flatMap((block, index) => blockFrames(block, index)),
      closing(
        event({
          type: 'message_delta',
          delta: { stop_reason: STOP_REASON[reply.finish], stop_sequence: null },
          ...defined({ usage }),
        }),
      ),
      closing(event({ type: 'message_stop' })),
    ]
  },
  whole: (reply) => ({
    ...head(reply),
    content: blocksOf(reply).map(({ whole }) => whole),
    stop_reason: STOP_REASON[reply.finish],
    stop_sequence: null,
    ...defined({ usage: reply.usage ? usageOf(reply.usage) : undefined }),
  }),
  errorFrame: ({ body }) => ({ event: 'error', data: JSON.stringify(body) }),
}

/** Anthropic Messages. */
export const anthropic: SimulatedDialect = {
  path: /\/messages$/,
  reader: {
    model: (fields) => asText(fields.model),
    streams: (fields) => fields.stream === true,
    messages: (fields) => asList(fields.messages),
    maxTokens: (fields) => asNumber(fields.max_tokens),
  },
  responder,
  wordingOf: (error) => ERRORS[error].anthropic,
  errorBody: ({ body, message, type, status }, { number }) =>
    body?.({ message, status }) ?? {
      type: 'error',
      error: { type: type ?? 'invalid_request_error', message },
      request_id: `req_simulator_${number}`,
    },
}

const STOP_REASON: Record<FinishName, string> = {
  stop: 'end_turn',
  length: 'max_tokens',
  'tool-calls': 'tool_use',
  refusal: 'refusal',
  pause: 'pause_turn',
}

const head = ({ number, model }: ResolvedReply) => ({
  id: `msg_simulator_${number}`,
  type: 'message',
  role: 'assistant',
  model,
})

const event = (data: { type: string; [key: string]: Json }): Frame => ({ event: data.type, data: JSON.stringify(data) })

/** A content block, whole and as stream events. Some servers send the start of a block twice. */
type Block = { whole: Json; start: Json; deltas: Json[]; restart?: Json }

function blocksOf(reply: ResolvedReply): Block[] {
  const text = reply.text + (reply.refusal ?? '')
  return [
    ...thinkingBlocks(reply),
    ...(text === '' ? [] : [textBlock(text, reply)]),
    ...reply.calls.map((call) => callBlock(call, reply)),
  ]
}

function thinkingBlocks({ reasoning, pieces }: ResolvedReply): Block[] {
  if (!reasoning) return []
  const { text, signature, redacted } = reasoning
  const thinking: Block = {
    whole: { type: 'thinking', thinking: text ?? '', signature: signature ?? '' },
    start: { type: 'thinking', thinking: '', signature: '' },
    deltas: [
      ...pieces(text ?? '').map((piece): Json => ({ type: 'thinking_delta', thinking: piece })),
      ...(signature === undefined ? [] : [{ type: 'signature_delta', signature }]),
    ],
  }
  const hidden: Json = { type: 'redacted_thinking', data: redacted ?? '' }
  return [
    ...(text === undefined && signature === undefined ? [] : [thinking]),
    ...(redacted === undefined ? [] : [{ whole: hidden, start: hidden, deltas: [] }]),
  ]
}

const textBlock = (text: string, { pieces }: ResolvedReply): Block => ({
  whole: { type: 'text', text },
  start: { type: 'text', text: '' },
  deltas: pieces(text).map((piece) => ({ type: 'text_delta', text: piece })),
})

function callBlock({ id, name, json }: ResolvedCall, { pieces, callIds }: ResolvedReply): Block {
  const opened = (opening: string): Json => ({ type: 'tool_use', id: opening, name, input: {} })
  const restart = callIds === 'repeated' ? opened(id) : callIds === 'changed' ? opened(`${id}_changed_1`) : undefined
  return {
    whole: { type: 'tool_use', id, name, input: parsed(json) },
    start: opened(id),
    deltas: ['', ...pieces(json)].map((piece) => ({ type: 'input_json_delta', partial_json: piece })),
    ...defined({ restart: restart || undefined }),
  }
}

const blockFrames = ({ start, deltas, restart }: Block, index: number): Frame[] => [
  event({ type: 'content_block_start', index, content_block: start }),
  ...(restart ? [event({ type: 'content_block_start', index, content_block: restart })] : []),
  ...deltas.map((delta) => event({ type: 'content_block_delta', index, delta })),
  event({ type: 'content_block_stop', index }),
]

/** Arguments are an object in a non-streamed answer; invalid JSON stays text. */
export function parsed(json: string): Json {
  try {
    return JSON.parse(json) as Json
  } catch {
    return json
  }
}

/** Anthropic does not count cached and written tokens as input. */
const usageOf = ({ input, output, cached, written }: Tokens) => ({
  input_tokens: Math.max(0, input - cached - written),
  cache_creation_input_tokens: written,
  cache_read_input_tokens: cached,
  output_tokens: output,
})
