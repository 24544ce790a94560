import type { FailureKind } from './failure.ts'
import type { RunId } from './id.ts'

/** A key or token, never its secret. Keys of the environment are `credential-env-<variable>`. */
export type CredentialId = `credential-${string}`

/** Which of the credentials that can serve is taken. */
export type PoolStrategy = 'fill_first' | 'round_robin' | 'least_used' | 'random'

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
