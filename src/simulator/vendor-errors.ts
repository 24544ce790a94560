import type { Json } from '../core/json.ts'
import { DIALECTS } from '../core/message.ts'
import { ERRORS, type Wording } from './error-table.ts'
import type { ModelProtocol, Protocol, VendorError } from './script.ts'

type HttpError = { status: number; headers: Record<string, string>; body: Json }

/** The error as the vendor of that protocol would send it. */
export function vendorError(asked: VendorError, { protocol, model, number }: ErrorContext): HttpError {
  const entry = ERRORS[asked.error]
  const family = FAMILY[protocol]
  const wording: Wording = { ...entry, ...entry[family] }
  const status = asked.status ?? wording.status
  const message = asked.message ?? worded(wording.message, { model, limit: asked.limit ?? wording.limit })
  const retryAfter = asked.retryAfterSeconds ?? wording.retryAfterSeconds
  const headers = {
    ...(retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }),
    ...wording.headers,
    ...asked.headers,
  }
  if (wording.html !== undefined)
    return { status, headers: { 'content-type': 'text/html', ...headers }, body: wording.html }
  return { status, headers, body: SHAPES[family]({ ...wording, message, status }, { number, retryAfter }) }
}

type ErrorContext = { protocol: Protocol; model: string; number: number }
type Family = 'openai' | 'anthropic' | 'gemini'
type ShapeContext = { number: number; retryAfter: number | undefined }

const FAMILY: Record<Protocol, Family> = {
  'openai-chat': 'openai',
  'openai-responses': 'openai',
  anthropic: 'anthropic',
  gemini: 'gemini',
  models: 'openai',
  embeddings: 'openai',
  oauth: 'openai',
  account: 'openai',
  copilot: 'openai',
}

const SHAPES: Record<Family, (wording: Wording, context: ShapeContext) => Json> = {
  openai: ({ body, message, type, code, param, status }) =>
    body?.({ message, status }) ?? {
      error: { message, type: type ?? 'invalid_request_error', param: param ?? null, code: code ?? null },
    },
  anthropic: ({ body, message, type, status }, { number }) =>
    body?.({ message, status }) ?? {
      type: 'error',
      error: { type: type ?? 'invalid_request_error', message },
      request_id: `req_simulator_${number}`,
    },
  gemini: ({ message, status, type, code }, { retryAfter }) => ({
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

const worded = (message: string, { model, limit }: { model: string; limit: number | undefined }): string =>
  message
    .replaceAll('{model}', model)
    .replaceAll('{limit}', String(limit))
    .replaceAll('{above}', String((limit ?? 0) + 1))

/** What an error is called where it comes inside a stream. */
export const errorOf = (body: Json): { message: string; code: string; type: string } => {
  const error = (body as { error?: Record<string, unknown> })?.error ?? {}
  return {
    message: String(error.message ?? 'error'),
    code: String(error.code ?? error.type ?? 'server_error'),
    type: String(error.type ?? error.status ?? 'server_error'),
  }
}

export const isModelProtocol = (protocol: Protocol): protocol is ModelProtocol =>
  (DIALECTS as readonly string[]).includes(protocol)
