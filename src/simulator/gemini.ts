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
  // A comment: the protocol has no ping of its own.
  ping: ': ping\r\n\r\n',
  frames: (said) => [
    ...partsOf(said, said.pieces).map((part) => chunk(said, { parts: [part] })),
    closing(chunk(said, { parts: [{ text: '' }], finish: FINISH_REASON[said.finish] })),
  ],
  whole: (said) => body(said, { parts: partsOf(said, (text) => [text]), finish: FINISH_REASON[said.finish] }),
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

const chunk = (said: ResolvedReply, content: Content): Frame => jsonFrame(body(said, content))

const body = (said: ResolvedReply, content: Content): Json => ({
  ...(isBlocked(said) ? BLOCKED : candidatesOf(content)),
  ...defined({ usageMetadata: said.usage ? usageOf(said.usage) : undefined }),
  modelVersion: said.model,
  responseId: `response-simulator-${said.number}`,
})

const BLOCKED = { promptFeedback: { blockReason: 'SAFETY' } }

const candidatesOf = ({ parts, finish }: Content) => ({
  candidates: [{ content: { parts, role: 'model' }, ...defined({ finishReason: finish || undefined }), index: 0 }],
})

/** Refused without a word: the prompt itself was blocked, and there is no candidate. */
const isBlocked = ({ refusal, text }: ResolvedReply): boolean => refusal === '' && text === ''

function partsOf(said: ResolvedReply, pieces: (text: string) => string[]): Json[] {
  const { reasoning } = said
  const text = said.text + (said.refusal ?? '')
  const thoughts = pieces(reasoning?.text ?? '').filter((piece) => piece !== '')
  const spoken = text === '' ? [] : pieces(text)
  const signature = reasoning?.signature
  // The signature of a thought rides on the first part that follows it: on the first call if there is one.
  const signedCalls = said.calls.map((call, at) =>
    at === 0 && signature && !call.signature ? { ...call, signature } : call,
  )
  const signsText = signature !== undefined && said.calls.length === 0
  return [
    ...thoughts.map((piece): Json => ({ text: piece, thought: true })),
    ...spoken.map(
      (piece, at): Json => ({
        text: piece,
        ...defined({ thoughtSignature: signsText && at === spoken.length - 1 ? signature : undefined }),
      }),
    ),
    ...(signsText && spoken.length === 0 ? [{ text: '', thoughtSignature: signature }] : []),
    ...signedCalls.flatMap((call) => callParts(call, said)),
  ]
}

/** Calls come whole. A server that repeats itself sends them again, with the same id or another. */
function callParts({ id, name, json, signature }: ResolvedCall, { callIds }: ResolvedReply): Json[] {
  const part = (callId: string): Json => ({
    functionCall: { id: callId, name, args: parsed(json) },
    ...defined({ thoughtSignature: signature || undefined }),
  })
  if (callIds === 'repeated') return [part(id), part(id)]
  return callIds === 'changed' ? [part(id), part(`${id}_changed_1`)] : [part(id)]
}

/** Its candidates do not count the thoughts. */
const usageOf = ({ input, output, cached, reasoning }: Tokens): Json => ({
  promptTokenCount: input,
  candidatesTokenCount: Math.max(0, output - reasoning),
  ...defined({
    thoughtsTokenCount: reasoning > 0 ? reasoning : undefined,
    cachedContentTokenCount: cached > 0 ? cached : undefined,
  }),
  totalTokenCount: input + output,
})
