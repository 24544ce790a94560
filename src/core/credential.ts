import type { FailureKind } from './failure.ts'
import type { OrganizationId, RunId } from './id.ts'

/** A key or token, never its secret. Keys of the environment are `credential-env-<variable>`. */
export type CredentialId = `credential-${string}`

/** How a credential is chosen among the usable ones. */
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
  /** Credentials with a lower number are used first. */
  priority: number
  state: { type: 'ok' } | { type: 'dead'; reason: string; detail: string }
  /** Approximate: uses are counted in batches, and a crash loses the last few seconds. */
  useCount: number
  lastUsedAt?: number
  oauth?: OAuthDetails
  /** Grows with each new secret. */
  generation: number
  /** Why the last refresh failed. */
  refreshFailure?: string
  createdAt: number
  updatedAt: number
}

/** How an OAuth credential is refreshed and used, without secrets. */
export type OAuthDetails = {
  flow: string
  tokenUrl?: string
  clientId?: string
  /** Headers sent with each request that uses the token, such as account ids. */
  headers?: Readonly<Record<string, string>>
  baseUrl?: string
}

/**
 * One credential or endpoint is not used until `until`. The only recovery state that outlives a turn: written only if
 * the provider stated an end, or if the pool has other usable credentials; cleared by success.
 */
export type Cooldown = {
  scope: 'credential' | 'endpoint'
  /** The credential's id, or the endpoint's base URL. */
  key: string
  provider: string
  reason: FailureKind
  detail: string
  until: number
  /** The run whose failure caused it. */
  runId?: RunId
  createdAt: number
}

const SHOWN = 4
/** Four characters of a shorter secret would reveal too much. */
const SHORTEST_SHOWN = 16

/** The last characters: enough to recognize a key, too few to use it. */
export const maskedSecret = (secret: string): string =>
  secret.length < SHORTEST_SHOWN ? '…' : `…${secret.slice(-SHOWN)}`
