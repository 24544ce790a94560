/** What a transport error means for its request. `not-sent`: it had no effect. `lost`: it may have taken effect. */
export type CallFault = { type: 'not-sent' | 'lost'; status?: number; detail: string }

/** Errors before a connection exists, so no request was sent. */
const CODES_BEFORE_SENDING = new Set([
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

/** A proxy may answer 408 after the server has received the request. */
const REQUEST_TIMEOUT = 408

export function classifyCallError(error: unknown): CallFault {
  const detail = errorDetail(error)
  const status = findStatus(error)
  if (status !== undefined) {
    // With a 3xx or 4xx status the server did not accept the request.
    const isRefused = status >= 300 && status < 500 && status !== REQUEST_TIMEOUT
    return { type: isRefused ? 'not-sent' : 'lost', status, detail }
  }
  return { type: CODES_BEFORE_SENDING.has(findCode(error) ?? '') ? 'not-sent' : 'lost', detail }
}

export function errorDetail(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const cause = error.cause instanceof Error ? errorDetail(error.cause) : ''
  const own = error instanceof AggregateError ? error.errors.map(errorDetail).join('; ') : error.message
  return [own, cause].filter(Boolean).join(': ').slice(0, 500)
}

function findStatus(error: unknown): number | undefined {
  const { code, message } = error as { code?: unknown; message?: unknown }
  if (typeof code === 'number' && code >= 100) return code
  const found = /\(HTTP (\d{3})\)/.exec(typeof message === 'string' ? message : '')
  return found ? Number(found[1]) : undefined
}

function findCode(error: unknown): string | undefined {
  const { code, cause, errors } = (error ?? {}) as { code?: unknown; cause?: unknown; errors?: unknown[] }
  if (typeof code === 'string') return code
  return cause ? findCode(cause) : errors?.[0] ? findCode(errors[0]) : undefined
}
