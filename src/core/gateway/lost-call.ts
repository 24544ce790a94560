import type { CallFailure } from './send-plan.ts'

/** Codes of the TLS handshake, which is before the request: certificates, and a server that speaks plain HTTP. */
const NOT_TRUSTED = /CERT|^(UNABLE_TO_(VERIFY|GET|DECODE)_\w+|HOSTNAME_MISMATCH|ERR_SSL_WRONG_VERSION_NUMBER)$/
/** Codes of connections that were never made: the request had no effect. */
const NEVER_SENT = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
])
/** An address of Telegram contains the token of its bot. */
const TOKEN = /bot\d+:[\w-]+/g
const MOST_CAUSES = 4

/** A call without an answer: only one that was never sent may be sent again. */
export function lostCallTo(platform: string, fault: unknown): CallFailure {
  const code = codeOf(fault)
  const isUntrusted = code !== undefined && NOT_TRUSTED.test(code)
  const isUnreachable = isUntrusted || (code !== undefined && NEVER_SENT.has(code))
  const what = isUntrusted
    ? `cannot reach ${platform}: no TLS connection that can be trusted`
    : isUnreachable
      ? `cannot reach ${platform}`
      : `${platform} did not answer`
  const message = fault instanceof Error ? fault.message : 'no reason'
  return {
    kind: isUnreachable ? 'unreachable' : 'unknown',
    detail: `${what} (${code ?? message.replaceAll(TOKEN, 'bot…')})`,
  }
}

/** `fetch` names the reason in the cause of its error, or in one of several. */
function codeOf(fault: unknown): string | undefined {
  for (let each = fault, depth = 0; each && depth < MOST_CAUSES; depth++) {
    const { code, cause, errors } = each as { code?: unknown; cause?: unknown; errors?: unknown[] }
    if (typeof code === 'string') return code
    each = cause ?? errors?.[0]
  }
  return undefined
}
