import type { FailureKind } from './failure.ts'
import type { OrganizationId, RunId } from './id.ts'

/** A key or token, never its secret. Keys of the environment are `credential-env-<variable>`. */
export type CredentialId = `credential-${string}`

/** Which of the credentials that can serve is taken. */
export const POOL_STRATEGIES = ['fill_first', 'round_robin', 'least_used', 'random'] as const

export type PoolStrategy = (typeof POOL_STRATEGIES)[number]

/** Everything about a stored credential but its secrets: safe to print, log and send. */
export type Credential = {
  id: CredentialId
  organizationId: OrganizationId
  provider: string
  /** Unique among the credentials of its provider. */
  label: string
  kind: 'api-key' | 'oauth'
  source: 'stored'
  expiresAt?: number
  /** The lower, the earlier it is taken. */
  priority: number
  state: { type: 'ok' } | { type: 'dead'; reason: string; detail: string }
  /** About: uses are counted in bursts, and a crash forgets the last few seconds of them. */
  useCount: number
  lastUsedAt?: number
  oauth?: OAuthDetails
  /** Grows with each new secret. */
  generation: number
  /** Why the last try to renew it came to nothing. */
  refreshFailure?: string
  createdAt: number
  updatedAt: number
}

/** How an OAuth credential is renewed and used, without anything secret. */
export type OAuthDetails = {
  flow: string
  tokenUrl?: string
  clientId?: string
  /** Sent with each request that uses the token, such as account ids. */
  headers?: Readonly<Record<string, string>>
  baseUrl?: string
}

/**
 * What may outlive a turn: one credential or endpoint rests until `until`, and why. Written only for an end the provider
 * stated, or to set a credential aside that has siblings left; cleared by success.
 */
export type Cooldown = {
  scope: 'credential' | 'endpoint'
  /** The credential's id, or the endpoint's base URL. */
  key: string
  provider: string
  reason: FailureKind
  detail: string
  until: number
  /** The run that met it. */
  runId?: RunId
  createdAt: number
}

const SHOWN = 4
/** Of a short secret even four characters tell too much. */
const SHORTEST_SHOWN = 16

/** Enough to recognize a key by, and too little to use it. */
export const maskedSecret = (secret: string): string =>
  secret.length < SHORTEST_SHOWN ? '…' : `…${secret.slice(-SHOWN)}`
