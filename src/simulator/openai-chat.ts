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
  frames(said) {
    const delta = (fields: Json, finish: string | null = null) =>
      jsonFrame({
        ...head(said, 'chat.completion.chunk'),
        choices: [{ index: 0, delta: fields, logprobs: null, finish_reason: finish }],
      })
    return [
      delta({ role: 'assistant', content: '' }),
      ...reasoningDeltas(said).map((fields) => delta(fields)),
      ...said.pieces(said.text).map((content) => delta({ content })),
      ...said.pieces(said.refusal ?? '').map((refusal) => delta({ refusal })),
      ...said.calls
        .flatMap((call, index) => callDeltas(call, index, said))
        .map((call) => delta({ tool_calls: [call] })),
      closing(delta({}, finishOf(said))),
      ...usageFrame(said),
      closing({ data: '[DONE]' }),
    ]
  },
  whole: (said) => ({
    ...head(said, 'chat.completion'),
    choices: [
      {
        index: 0,
        logprobs: null,
        finish_reason: finishOf(said),
        message: {
          role: 'assistant',
          content: said.text === '' && said.calls.length > 0 ? null : said.text,
          refusal: said.refusal ?? null,
          ...(said.reasoning ? wholeReasoning(said.reasoning) : undefined),
          ...defined({ tool_calls: said.calls.length > 0 ? said.calls.map(wholeCall) : undefined }),
        },
      },
    ],
    ...defined({ usage: said.usage ? usageOf(said.usage) : undefined }),
  }),
  errorFrame: ({ body }) => jsonFrame(body),
}

/** OpenAI Chat Completions, and the servers that speak like it. */
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

/** A refusal that is worded has a field of its own; only what a filter stopped has a reason of its own. */
const finishOf = ({ finish, refusal }: ResolvedReply): string =>
  finish === 'refusal' && refusal !== undefined ? FINISH.stop : FINISH[finish]

const head = ({ number, model }: ResolvedReply, object: string) => ({
  id: `chatcmpl-simulator-${number}`,
  object,
  created: CREATED,
  model,
  system_fingerprint: 'fp_simulator',
})

function callDeltas(call: ResolvedCall, index: number, said: ResolvedReply): Json[] {
  const pieces = said.pieces(call.json).map((json, piece): Json => {
    const id = laterId(call, said, piece + 1)
    // With a name beside it, a new id would be a new call.
    const name = said.callIds === 'repeated' ? { name: call.name } : {}
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

/** What proves a thought comes after its text, as OpenRouter sends it. */
const proofs = ({ signature, encrypted }: Reasoning): Json[] => [
  ...(signature ? [{ type: 'reasoning.text', signature, index: 0, format: 'anthropic-claude-v1' }] : []),
  ...(encrypted
    ? [{ type: 'reasoning.encrypted', data: encrypted, id: 'rs_simulator', index: 1, format: 'openai-responses-v1' }]
    : []),
]

const usageFrame = (said: ResolvedReply): Frame[] =>
  said.usage && said.wantsUsage
    ? [closing(jsonFrame({ ...head(said, 'chat.completion.chunk'), choices: [], usage: usageOf(said.usage) }))]
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
