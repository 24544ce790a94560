import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http'

/** Headers of a browser's request that reach the page's server. Cookies and keys are not among them. */
const PASSED_REQUEST_HEADERS = [
  'accept',
  'accept-encoding',
  'accept-language',
  'content-type',
  'content-length',
  'range',
  'user-agent',
  'last-event-id',
  'sec-websocket-key',
  'sec-websocket-version',
  'sec-websocket-protocol',
  'sec-websocket-extensions',
]

/** Headers of an answer that reach the browser. A cookie of a page would also be sent to other ports of this machine. */
const PASSED_ANSWER_HEADERS = [
  'content-type',
  'content-length',
  'content-encoding',
  'content-language',
  'content-range',
  'content-disposition',
  'accept-ranges',
  'retry-after',
  'sec-websocket-accept',
  'sec-websocket-protocol',
  'sec-websocket-extensions',
]

export function requestHeaders(headers: IncomingHttpHeaders, port: number): OutgoingHttpHeaders {
  // Servers for development check both.
  const host = `localhost:${port}`
  const origin = headers.origin === undefined ? {} : { origin: `http://${host}` }
  return { ...picked(headers, PASSED_REQUEST_HEADERS), ...origin, host }
}

export const answerHeaders = (headers: IncomingHttpHeaders): OutgoingHttpHeaders =>
  picked(headers, PASSED_ANSWER_HEADERS)

const picked = (headers: IncomingHttpHeaders, names: readonly string[]): OutgoingHttpHeaders =>
  Object.fromEntries(names.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]])))

/**
 * On every answer. `sandbox` without `allow-same-origin` gives the page an origin of its own: it has no storage and no
 * form, and its requests to another origin are those of a stranger. It loads from its own server, and from the domains
 * that commands of workspaces may reach.
 */
export function protectiveHeaders(host: string, egress: readonly string[]): Record<string, string> {
  const sources = ["'self'", `http://${host}`, `ws://${host}`, ...egress.map((domain) => `https://${domain}`)].join(' ')
  return {
    'content-security-policy':
      `sandbox allow-scripts; default-src ${sources} 'unsafe-inline' 'unsafe-eval' data: blob:; ` +
      "form-action 'none'; frame-ancestors 'none'",
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
  }
}

/** The origin of a sandboxed page is `null`; nothing else may read its server's answers. */
export const PAGE_ORIGIN = 'null'

/** Lets the page read the answers to its own requests. */
export const CORS_HEADERS: Record<string, string> = {
  'access-control-allow-origin': PAGE_ORIGIN,
  'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
  'access-control-allow-headers': 'content-type, accept, range, last-event-id',
}
