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
  frames(said) {
    const usage = said.usage && usageOf(said.usage)
    const opening = {
      ...head(said),
      content: [],
      stop_reason: null,
      stop_sequence: null,
      ...defined({ usage: usage ? { ...usage, output_tokens: 1 } : undefined }),
    }
    return [
      event({ type: 'message_start', message: opening }),
      ...blocksOf(said).flatMap((block, index) => blockFrames(block, index)),
      closing(
        event({
          type: 'message_delta',
          delta: { stop_reason: STOP_REASON[said.finish], stop_sequence: null },
          ...defined({ usage }),
        }),
      ),
      closing(event({ type: 'message_stop' })),
    ]
  },
  whole: (said) => ({
    ...head(said),
    content: blocksOf(said).map(({ whole }) => whole),
    stop_reason: STOP_REASON[said.finish],
    stop_sequence: null,
    ...defined({ usage: said.usage ? usageOf(said.usage) : undefined }),
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

/** A block as one piece, and as it opens and grows. Some servers open a block again in its middle. */
type Block = { whole: Json; start: Json; deltas: Json[]; restart?: Json }

function blocksOf(said: ResolvedReply): Block[] {
  const text = said.text + (said.refusal ?? '')
  return [
    ...thinkingBlocks(said),
    ...(text === '' ? [] : [textBlock(text, said)]),
    ...said.calls.map((call) => callBlock(call, said)),
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

/** The body of an answer in one piece has objects only; broken arguments stay the text they are. */
export function parsed(json: string): Json {
  try {
    return JSON.parse(json) as Json
  } catch {
    return json
  }
}

/** Its input does not count what the cache read or took. */
const usageOf = ({ input, output, cached, written }: Tokens) => ({
  input_tokens: Math.max(0, input - cached - written),
  cache_creation_input_tokens: written,
  cache_read_input_tokens: cached,
  output_tokens: output,
})
