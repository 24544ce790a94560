import type { FailureKind } from '../../core/failure.ts'

/** The kind for a status when the body is not more specific. */
export function kindOfStatus(status: number): FailureKind {
  return STATUSES[status] ?? FAMILIES[Math.floor(status / 100)] ?? 'server-error'
}

const FAMILIES: Readonly<Record<number, FailureKind>> = {
  2: 'server-error',
  // Redirects are not followed: a server that redirects is not the configured endpoint.
  3: 'unreachable',
  4: 'invalid-request',
  5: 'server-error',
}

const STATUSES: Readonly<Record<number, FailureKind>> = {
  401: 'auth-rejected',
  402: 'quota-exhausted',
  403: 'auth-rejected',
  // The endpoint does not know the model or path; another target may.
  404: 'model-unknown',
  407: 'unreachable',
  408: 'timeout',
  409: 'server-error',
  410: 'model-unknown',
  413: 'payload-too-large',
  424: 'server-error',
  425: 'server-error',
  429: 'rate-limited',
  451: 'policy-blocked',
  499: 'server-error',
  503: 'overloaded',
  504: 'timeout',
  // Cloudflare: the origin refused the connection, did not answer, was not found or took too long.
  521: 'unreachable',
  522: 'unreachable',
  523: 'unreachable',
  524: 'timeout',
  529: 'overloaded',
  530: 'unreachable',
}

/** Statuses of a gateway or server that received the request before it failed. */
export const MAY_HAVE_BEEN_ACCEPTED: readonly number[] = [408, 499, 500, 502, 504, 520, 524]
