import type { CredentialId } from '../core/credential.ts'
import type { OrganizationId } from '../core/id.ts'
import type { StoredCredential } from './credential-store.ts'
import type { RefreshResult } from './credentials.ts'

/** The response of a token endpoint. No request is retried: a refresh token may be valid for one use. */
export type TokenResponse =
  | { type: 'tokens'; tokens: Tokens }
  /** An OAuth error. `isFinal`: the token or code that was sent will never work again. */
  | { type: 'refused'; code: string; detail: string; isFinal: boolean }
  /** No response, or an unreadable one: the state of the token is unknown. */
  | { type: 'unavailable'; detail: string }

export type Tokens = {
  secret: string
  refreshToken?: string
  expiresAt?: number
  /** Headers that each request with the token needs. */
  headers?: Record<string, string>
  baseUrl?: string
}

/** Sends the refresh token of this credential to its token endpoint. Never rejects. */
export type RedeemRefreshToken = (credential: StoredCredential, refreshToken: string) => Promise<TokenResponse>

/** Renews a credential, once across all processes. */
export type RefreshOnce = (
  id: CredentialId,
  options: { organizationId: OrganizationId; failedSecret: string; signal: AbortSignal },
) => Promise<RefreshResult>
