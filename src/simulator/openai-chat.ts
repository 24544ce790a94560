import { defined } from '../core/defined.ts'
import type { Json } from '../core/json.ts'
import type { SimulatedDialect } from './dialect.ts'
import { openaiErrorBody } from './openai-error-body.ts'
import { asList, asNumber, asObject, asText } from './request-fields.ts'
import {
  CREATED,
  closing,
  type Frame,
  jsonFrame,
  laterId,
  type ResolvedCall,
  type ResolvedReply,
  type Responder,
  type Tokens,
} from './responder.ts'
import type { FinishName, Reasoning } from './script.ts'

const responder: Responder = {
  newline: '\n',
  ping: ': OPENROUTER PROCESSING\n\n',
  frames(reply) {
    const delta = (fields: Json, finish: string | null = null) =>
      jsonFrame({
        ...head(reply, 'chat.completion.chunk'),
        choices: [{ index: 0, delta: fields, logprobs: null, finish_reason: finish }],
      })
    return [
      delta({ role: 'assistant', content: '' }),
      ...reasoningDeltas(reply).map((fields) => delta(fields)),
      ...reply.pieces(reply.text).map((content) => delta({ content })),
      ...reply.pieces(reply.refusal ?? '').map((refusal) => delta({ refusal })),
      ...reply.calls
        .flatMap((call, index) => callDeltas(call, index, reply))
        .map((call) => delta({ tool_calls: [call] })),
      closing(delta({}, finishOf(reply))),
      ...usageFrame(reply),
      closing({ data: '[DONE]' }),
    ]
  },
  whole: (reply) => ({
    ...head(reply, 'chat.completion'),
    choices: [
      {
        index: 0,
        logprobs: null,
        finish_reason: finishOf(reply),
        message: {
          role: 'assistant',
          content: reply.text === '' && reply.calls.length > 0 ? null : reply.text,
          refusal: reply.refusal ?? null,
          ...(reply.reasoning ? wholeReasoning(reply.reasoning) : undefined),
          ...defined({ tool_calls: reply.calls.length > 0 ? reply.calls.map(wholeCall) : undefined }),
        },
      },
    ],
    ...defined({ usage: reply.usage ? usageOf(reply.usage) : undefined }),
  }),
  errorFrame: ({ body }) => jsonFrame(body),
}

/** OpenAI Chat Completions and compatible servers. */
export const openaiChat: SimulatedDialect = {
  path: /\/chat\/completions$/,
  reader: {
    model: (fields) => asText(fields.model),
    streams: (fields) => fields.stream === true,
    messages: (fields) => asList(fields.messages),
    maxTokens: (fields) => asNumber(fields.max_completion_tokens ?? fields.max_tokens),
    wantsUsage: (fields) => asObject(fields.stream_options).include_usage === true,
  },
  responder,
  errorBody: openaiErrorBody,
}

const FINISH: Record<FinishName, string> = {
  stop: 'stop',
  length: 'length',
  'tool-calls': 'tool_calls',
  refusal: 'content_filter',
  pause: 'stop',
}

/** A refusal with text finishes normally, in its own field; only a content filter has its own finish reason. */
const finishOf = ({ finish, refusal }: ResolvedReply): string =>
  finish === 'refusal' && refusal !== undefined ? FINISH.stop : FINISH[finish]

const head = ({ number, model }: ResolvedReply, object: string) => ({
  id: `chatcmpl-simulator-${number}`,
  object,
  created: CREATED,
  model,
  system_fingerprint: 'fp_simulator',
})

function callDeltas(call: ResolvedCall, index: number, reply: ResolvedReply): Json[] {
  const pieces = reply.pieces(call.json).map((json, piece): Json => {
    const id = laterId(call, reply, piece + 1)
    // A new id together with a name would start a new call.
    const name = reply.callIds === 'repeated' ? { name: call.name } : {}
    return {
      index,
      ...defined({ id: id || undefined, type: id ? 'function' : undefined }),
      function: { ...name, arguments: json },
    }
  })
  return [{ index, id: call.id, type: 'function', function: { name: call.name, arguments: '' } }, ...pieces]
}

const wholeCall = ({ id, name, json }: ResolvedCall): Json => ({
  id,
  type: 'function',
  function: { name, arguments: json },
})

function reasoningDeltas({ reasoning, pieces }: ResolvedReply): Json[] {
  if (!reasoning) return []
  const { field = 'reasoning_content', text = '' } = reasoning
  if (field === 'reasoning_content') return pieces(text).map((piece) => ({ [field]: piece }))
  const spoken = pieces(text).map((piece): Json => ({ reasoning: piece, reasoning_details: [detail(piece)] }))
  return [...spoken, ...proofs(reasoning).map((proof): Json => ({ reasoning_details: [proof] }))]
}

const wholeReasoning = (reasoning: Reasoning): { [key: string]: Json } => {
  const { field = 'reasoning_content', text = '' } = reasoning
  if (field === 'reasoning_content') return { [field]: text }
  const signed = reasoning.signature ? { signature: reasoning.signature } : {}
  const hidden = proofs({ ...reasoning, signature: '' })
  return { reasoning: text, reasoning_details: [{ ...detail(text), ...signed }, ...hidden] }
}

const detail = (text: string) => ({ type: 'reasoning.text', text, index: 0, format: 'anthropic-claude-v1' })

/** Signature and encrypted content follow the reasoning text, as OpenRouter sends them. */
const proofs = ({ signature, encrypted }: Reasoning): Json[] => [
  ...(signature ? [{ type: 'reasoning.text', signature, index: 0, format: 'anthropic-claude-v1' }] : []),
  ...(encrypted
    ? [{ type: 'reasoning.encrypted', data: encrypted, id: 'rs_simulator', index: 1, format: 'openai-responses-v1' }]
    : []),
]

const usageFrame = (reply: ResolvedReply): Frame[] =>
  reply.usage && reply.wantsUsage
    ? [closing(jsonFrame({ ...head(reply, 'chat.completion.chunk'), choices: [], usage: usageOf(reply.usage) }))]
    : []

const usageOf = ({ input, output, cached, written, reasoning }: Tokens): Json => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
  prompt_tokens_details: {
    cached_tokens: cached,
    ...defined({ cache_write_tokens: written > 0 ? written : undefined }),
  },
  completion_tokens_details: { reasoning_tokens: reasoning },
})
