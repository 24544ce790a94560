/**
 * What an error of the transport means for the request it belongs to. `not-sent`: the server did not do anything with it.
 * `lost`: it may have.
 */
export type CallFault = { type: 'not-sent' | 'lost'; status?: number; detail: string }

/** Nothing was connected, so nothing was asked. */
const BEFORE_SENDING = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ETIMEDOUT',
  'UND_ERR_CONNECT_TIMEOUT',
  'ERR_INVALID_URL',
  'ERR_REFUSED_FETCH',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

/** A request timeout is told by whoever waited for an answer: it may have come late. */
const REQUEST_TIMEOUT = 408

export function classifyCallError(error: unknown): CallFault {
  const detail = errorDetail(error)
  const status = statusIn(error)
  if (status !== undefined) {
    // A server that answers in the 300s and 400s says that it did not take the request.
    const isRefused = status >= 300 && status < 500 && status !== REQUEST_TIMEOUT
    return { type: isRefused ? 'not-sent' : 'lost', status, detail }
  }
  return { type: BEFORE_SENDING.has(codeIn(error) ?? '') ? 'not-sent' : 'lost', detail }
}

export function errorDetail(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const cause = error.cause instanceof Error ? errorDetail(error.cause) : ''
  const own = error instanceof AggregateError ? error.errors.map(errorDetail).join('; ') : error.message
  return [own, cause].filter(Boolean).join(': ').slice(0, 500)
}

function statusIn(error: unknown): number | undefined {
  const { code, message } = error as { code?: unknown; message?: unknown }
  if (typeof code === 'number' && code >= 100) return code
  const told = /\(HTTP (\d{3})\)/.exec(typeof message === 'string' ? message : '')
  return told ? Number(told[1]) : undefined
}

function codeIn(error: unknown): string | undefined {
  const { code, cause, errors } = (error ?? {}) as { code?: unknown; cause?: unknown; errors?: unknown[] }
  if (typeof code === 'string') return code
  return cause ? codeIn(cause) : errors?.[0] ? codeIn(errors[0]) : undefined
}
