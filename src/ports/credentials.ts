import type { CredentialId } from '../core/credential.ts'
import type { FailureKind } from '../core/failure.ts'

/** The right to ask a provider, for one attempt. The secret goes into the request and nowhere else. */
export type Grant = {
  credentialId: CredentialId
  secret: string
  kind: 'api-key' | 'oauth'
  /** What this credential needs beside the usual header (account ids, OAuth betas). */
  headers?: Readonly<Record<string, string>>
  /** Some credentials are for an address of their own. */
  baseUrl?: string
}

export type CredentialChoice =
  | {
      type: 'granted'
      grant: Grant
      /** Others of this pool that could serve now. */
      siblings: number
      /** Whether asking its source again may give another secret (OAuth, a key file, the environment). */
      canRefresh: boolean
      /** Its vendor says whether an account is paid up, and renews the token if so. */
      canRefreshEntitlement?: boolean
      /** It rested until a moment ago: success clears the record. */
      hasCooldown: boolean
    }
  /** No credential is known for this provider: local servers need none. */
  | { type: 'none' }
  /** All of them rest; the earliest end and its reason. */
  | { type: 'cooling'; until: number; reason: FailureKind; detail: string }
  /** All of them are dead until somebody renews them, or set aside in this step. */
  | { type: 'spent'; detail: string }

export type RefreshResult =
  | { type: 'refreshed' }
  /** The source has nothing newer. */
  | { type: 'unchanged' }
  /** The vendor says it will never work again; it is marked so. */
  | { type: 'dead'; detail: string }
  | { type: 'failed'; detail: string }

/** The pools of this process. Choosing is cheap and asks the store, so that other processes' cooldowns count. */
export type Credentials = {
  choose(provider: string, options: ChooseOptions): Promise<CredentialChoice>
  /**
   * Renews one credential: once across all processes, however many ask. If its source has another secret than the one
   * that failed by now, somebody else was faster and nothing is spent.
   */
  refresh(credentialId: CredentialId, options: RefreshOptions): Promise<RefreshResult>
}

export type RefreshOptions = {
  failedSecret: string
  signal: AbortSignal
  /** Only if the account is entitled: `unchanged` where it is not. */
  entitlement?: true
}

export type ChooseOptions = {
  /** Already tried in this step. */
  setAside: readonly CredentialId[]
  /** The one this turn has used, as long as it can serve: providers cache by account. */
  preferred?: CredentialId
  at: number
  /** Ends the wait for a token that has run out and is renewed before it is granted. */
  signal?: AbortSignal
}
