import { defined } from '../core/defined.ts'
import type { Json } from '../core/json.ts'
import { parsed } from './anthropic.ts'
import type { SimulatedDialect } from './dialect.ts'
import { ERRORS } from './error-table.ts'
import { asList, asNumber, asObject } from './request-fields.ts'
import {
  closing,
  type Frame,
  jsonFrame,
  type ResolvedCall,
  type ResolvedReply,
  type Responder,
  type Tokens,
} from './responder.ts'
import type { FinishName } from './script.ts'

const responder: Responder = {
  newline: '\r\n',
  // An SSE comment: the protocol has no ping.
  ping: ': ping\r\n\r\n',
  frames: (reply) => [
    ...partsOf(reply, reply.pieces).map((part) => chunk(reply, { parts: [part] })),
    closing(chunk(reply, { parts: [{ text: '' }], finish: FINISH_REASON[reply.finish] })),
  ],
  whole: (reply) => body(reply, { parts: partsOf(reply, (text) => [text]), finish: FINISH_REASON[reply.finish] }),
  errorFrame: ({ body }) => jsonFrame(body),
}

/** Gemini's generateContent and streamGenerateContent. */
export const gemini: SimulatedDialect = {
  path: /\/models\/[^/]+:(streamGenerateContent|generateContent)$/,
  reader: {
    model: (_, path) => decodeURIComponent(/\/models\/([^/:]+):/.exec(path)?.[1] ?? ''),
    streams: (_, path) => path.endsWith(':streamGenerateContent'),
    messages: (fields) => asList(fields.contents),
    maxTokens: (fields) => asNumber(asObject(fields.generationConfig).maxOutputTokens),
    asArray: (query) => query.get('alt') !== 'sse',
  },
  responder,
  wordingOf: (error) => ERRORS[error].gemini,
  errorBody: ({ message, status, type, code }, { retryAfter }) => ({
    error: {
      code: status,
      message,
      status: type ?? 'INVALID_ARGUMENT',
      ...details([
        ...(code === undefined ? [] : [{ '@type': `${GOOGLE}.ErrorInfo`, reason: code, domain: 'googleapis.com' }]),
        ...(retryAfter === undefined ? [] : [{ '@type': `${GOOGLE}.RetryInfo`, retryDelay: `${retryAfter}s` }]),
      ]),
    },
  }),
}

const GOOGLE = 'type.googleapis.com/google.rpc'
const details = (list: Json[]) => (list.length > 0 ? { details: list } : {})

const FINISH_REASON: Record<FinishName, string> = {
  stop: 'STOP',
  length: 'MAX_TOKENS',
  'tool-calls': 'STOP',
  refusal: 'SAFETY',
  pause: 'OTHER',
}

type Content = { parts: Json[]; finish?: string }

const chunk = (reply: ResolvedReply, content: Content): Frame => jsonFrame(body(reply, content))

const body = (reply: ResolvedReply, content: Content): Json => ({
  ...(isBlocked(reply) ? BLOCKED : candidatesOf(content)),
  ...defined({ usageMetadata: reply.usage ? usageOf(reply.usage) : undefined }),
  modelVersion: reply.model,
  responseId: `response-simulator-${reply.number}`,
})

const BLOCKED = { promptFeedback: { blockReason: 'SAFETY' } }

const candidatesOf = ({ parts, finish }: Content) => ({
  candidates: [{ content: { parts, role: 'model' }, ...defined({ finishReason: finish || undefined }), index: 0 }],
})

/** A refusal without text: the prompt was blocked, and there is no candidate. */
const isBlocked = ({ refusal, text }: ResolvedReply): boolean => refusal === '' && text === ''

function partsOf(reply: ResolvedReply, pieces: (text: string) => string[]): Json[] {
  const { reasoning } = reply
  const text = reply.text + (reply.refusal ?? '')
  const thoughts = pieces(reasoning?.text ?? '').filter((piece) => piece !== '')
  const spoken = text === '' ? [] : pieces(text)
  const signature = reasoning?.signature
  // The signature of a thought is on the part that follows it: on the first call if there is one.
  const signedCalls = reply.calls.map((call, at) =>
    at === 0 && signature && !call.signature ? { ...call, signature } : call,
  )
  const signsText = signature !== undefined && reply.calls.length === 0
  return [
    ...thoughts.map((piece): Json => ({ text: piece, thought: true })),
    ...spoken.map(
      (piece, at): Json => ({
        text: piece,
        ...defined({ thoughtSignature: signsText && at === spoken.length - 1 ? signature : undefined }),
      }),
    ),
    ...(signsText && spoken.length === 0 ? [{ text: '', thoughtSignature: signature }] : []),
    ...signedCalls.flatMap((call) => callParts(call, reply)),
  ]
}

/** Calls are not split. Some servers send a call twice, with the same id or another. */
function callParts({ id, name, json, signature }: ResolvedCall, { callIds }: ResolvedReply): Json[] {
  const part = (callId: string): Json => ({
    functionCall: { id: callId, name, args: parsed(json) },
    ...defined({ thoughtSignature: signature || undefined }),
  })
  if (callIds === 'repeated') return [part(id), part(id)]
  return callIds === 'changed' ? [part(id), part(`${id}_changed_1`)] : [part(id)]
}

/** Gemini does not count thoughts as candidate tokens. */
const usageOf = ({ input, output, cached, reasoning }: Tokens): Json => ({
  promptTokenCount: input,
  candidatesTokenCount: Math.max(0, output - reasoning),
  ...defined({
    thoughtsTokenCount: reasoning > 0 ? reasoning : undefined,
    cachedContentTokenCount: cached > 0 ? cached : undefined,
  }),
  totalTokenCount: input + output,
})
