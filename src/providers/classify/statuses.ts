import type { FailureKind } from '../../core/failure.ts'

/** What a status means when nothing beside it says more. */
export function kindOfStatus(status: number): FailureKind {
  return STATUSES[status] ?? FAMILIES[Math.floor(status / 100)] ?? 'server-error'
}

const FAMILIES: Readonly<Record<number, FailureKind>> = {
  2: 'server-error',
  // We follow no redirects: whoever answers so is not the endpoint that was meant.
  3: 'unreachable',
  4: 'invalid-request',
  5: 'server-error',
}

const STATUSES: Readonly<Record<number, FailureKind>> = {
  401: 'auth-rejected',
  402: 'quota-exhausted',
  403: 'auth-rejected',
  // An endpoint that does not know what was asked for: another target may.
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
  // Cloudflare's: the origin refused, did not answer, was not found, took too long.
  521: 'unreachable',
  522: 'unreachable',
  523: 'unreachable',
  524: 'timeout',
  529: 'overloaded',
  530: 'unreachable',
}

/** Statuses of a gateway or a server that had the request before it failed. */
export const MAY_HAVE_BEEN_ACCEPTED: readonly number[] = [408, 499, 500, 502, 504, 520, 524]
