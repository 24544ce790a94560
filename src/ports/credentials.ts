import type { CredentialId } from '../core/credential.ts'
import type { FailureKind } from '../core/failure.ts'
import type { OrganizationId } from '../core/id.ts'

/** A credential granted for one attempt. The secret may be used in the request only. */
export type Grant = {
  credentialId: CredentialId
  secret: string
  kind: 'api-key' | 'oauth'
  /** Extra headers this credential needs (account ids, OAuth betas). */
  headers?: Readonly<Record<string, string>>
  /** Base URL to use instead of the provider's, for credentials bound to one address. */
  baseUrl?: string
}

export type CredentialChoice =
  | {
      type: 'granted'
      grant: Grant
      /** Number of other credentials in this pool that are usable now. */
      siblings: number
      /** Whether a refresh may yield another secret (OAuth, a key file, the environment). */
      canRefresh: boolean
      /** The vendor reports whether the account is paid, and renews the token if it is. */
      canRefreshEntitlement?: boolean
      /** Its cooldown has just ended; a success clears the row. */
      hasCooldown: boolean
    }
  /** No credential is configured for this provider; local servers need none. */
  | { type: 'none' }
  /** The organization has no key of its own, and may not use those of the server. */
  | { type: 'not-allowed' }
  /** All credentials are in cooldown; `until` and `reason` are those of the cooldown that ends first. */
  | { type: 'cooling'; until: number; reason: FailureKind; detail: string }
  /** All credentials are dead until renewed, or were set aside in this step. */
  | { type: 'spent'; detail: string }

export type RefreshResult =
  | { type: 'refreshed' }
  /** The source has no newer secret. */
  | { type: 'unchanged' }
  /** The vendor rejected it permanently; it is marked dead. */
  | { type: 'dead'; detail: string }
  | { type: 'failed'; detail: string }

/** Credential pools of this process. `choose` reads the store each time, so cooldowns set by other processes count. */
export type Credentials = {
  choose(provider: string, options: ChooseOptions): Promise<CredentialChoice>
  /**
   * Refreshes one credential, once across all processes. If the source already has a secret other than the one that
   * failed, another process refreshed it and no refresh token is spent.
   */
  refresh(credentialId: CredentialId, options: RefreshOptions): Promise<RefreshResult>
}

export type RefreshOptions = {
  failedSecret: string
  signal: AbortSignal
  /** Refresh only if the account is entitled; `unchanged` if it is not. */
  entitlement?: true
}

/** An organization with keys of its own for a provider uses these alone, otherwise the server's, if it may. */
export type KeyPayer = { organizationId: OrganizationId; mayUseServerKeys: boolean }

export type ChooseOptions = {
  /** Credentials already tried in this step. */
  setAside: readonly CredentialId[]
  /** The credential this turn has used, preferred while it is usable: providers cache prompts by account. */
  preferred?: CredentialId
  at: number
  /** Who asks. Absent: the server. */
  payer?: KeyPayer
  /** Aborts the wait for an expired token that is refreshed before it is granted. */
  signal?: AbortSignal
}
