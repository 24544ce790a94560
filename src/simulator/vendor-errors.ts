import { defined } from '../core/defined.ts'
import type { Json } from '../core/json.ts'
import { DIALECTS } from '../core/message.ts'
import type { SimulatedDialect } from './dialect.ts'
import { SIMULATED_DIALECTS } from './dialects.ts'
import { ERRORS, type Wording } from './error-table.ts'
import type { StreamError } from './responder.ts'
import type { ModelProtocol, Protocol, VendorError } from './script.ts'

type HttpError = { status: number; headers: Record<string, string>; body: Json }

/** The error as the vendor of that protocol would send it. */
export function vendorError(requested: VendorError, { protocol, model, number }: ErrorContext): HttpError {
  const entry = ERRORS[requested.error]
  const dialect = dialectOf(protocol)
  const wording: Wording = { ...entry, ...dialect.wordingOf?.(requested.error) }
  const status = requested.status ?? wording.status
  const message = requested.message ?? worded(wording.message, { model, limit: requested.limit ?? wording.limit })
  const retryAfter = requested.retryAfterSeconds ?? wording.retryAfterSeconds
  const headers = {
    ...defined({ 'retry-after': retryAfter === undefined ? undefined : String(retryAfter) }),
    ...wording.headers,
    ...requested.headers,
  }
  if (wording.html !== undefined)
    return { status, headers: { 'content-type': 'text/html', ...headers }, body: wording.html }
  return { status, headers, body: dialect.errorBody({ ...wording, message, status }, { number, retryAfter }) }
}

type ErrorContext = { protocol: Protocol; model: string; number: number }

/** Other endpoints answer as OpenAI does. */
const dialectOf = (protocol: Protocol): SimulatedDialect =>
  SIMULATED_DIALECTS[isModelProtocol(protocol) ? protocol : 'openai-chat']

const worded = (message: string, { model, limit }: { model: string; limit: number | undefined }): string =>
  message
    .replaceAll('{model}', model)
    .replaceAll('{limit}', String(limit))
    .replaceAll('{above}', String((limit ?? 0) + 1))

/** Reduces an error body to the fields of an error inside a stream. */
export const toStreamError = (body: Json): StreamError => {
  const error = (body as { error?: Record<string, unknown> })?.error ?? {}
  return {
    message: String(error.message ?? 'error'),
    code: String(error.code ?? error.type ?? 'server_error'),
    type: String(error.type ?? error.status ?? 'server_error'),
  }
}

export const isModelProtocol = (protocol: Protocol): protocol is ModelProtocol =>
  (DIALECTS as readonly string[]).includes(protocol)
