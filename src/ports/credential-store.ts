import type { Cooldown, Credential, CredentialId, OAuthDetails } from '../core/credential.ts'
import type { OrganizationId } from '../core/id.ts'
import type { ModelNotes } from '../core/target.ts'

/** Ciphertext of a SecretBox, with the credential's id as its context. */
export type SealedSecret = { secret: string; refreshToken?: string }

/** `refreshingBy`: a claim to renew it was made and not given back; it may have lapsed. */
export type StoredCredential = Credential & { sealed: SealedSecret; refreshingBy?: string }

/** A new secret for the credential as `generation` knew it. It also brings a dead one back. */
type Renewal = {
  generation: number
  sealed: SealedSecret
  expiresAt?: number
  oauth?: OAuthDetails
  at: number
}

export type CredentialStore = {
  /** False: another one of this provider has the label. */
  add(credential: StoredCredential): Promise<boolean>
  get(organizationId: OrganizationId, id: CredentialId): Promise<StoredCredential | undefined>
  list(organizationId: OrganizationId, provider?: string): Promise<StoredCredential[]>
  /** With its cooldown. */
  remove(organizationId: OrganizationId, id: CredentialId): Promise<boolean>
  /** All that choosing needs, in one query: rows in order, and cooldowns of credentials, also of those without a row. */
  pool(
    organizationId: OrganizationId,
    provider: string,
  ): Promise<{ credentials: StoredCredential[]; cooldowns: Cooldown[] }>
  /**
   * The sole right to renew this generation, until `leaseMs` have passed or it is given back. `held`: somebody else has
   * it. `moved`: it is of another generation, dead or gone.
   */
  claimRefresh(
    id: CredentialId,
    claim: { claimId: string; generation: number; leaseMs: number },
  ): Promise<'claimed' | 'held' | 'moved'>
  /** Ends the claim. False: it was renewed by somebody else first, or is gone. */
  renew(id: CredentialId, renewal: Renewal): Promise<boolean>
  releaseRefresh(id: CredentialId, claim: { claimId: string; failure: string }): Promise<void>
  /** Dead until renewed; ends the claim. False: it was renewed first, so the verdict is about an old secret. */
  markDead(
    id: CredentialId,
    verdict: { generation: number; reason: string; detail: string; at: number },
  ): Promise<boolean>
  countUses(uses: readonly { id: CredentialId; uses: number; at: number }[]): Promise<void>
  /** Every organization's, for the rotation of the key. `after` is the last number seen. */
  sealedPage(after: number, limit: number): Promise<{ number: number; id: CredentialId; sealed: SealedSecret }[]>
  /** The same secrets in another ciphertext. False: they changed meanwhile. */
  reseal(id: CredentialId, from: SealedSecret, to: SealedSecret): Promise<boolean>
}

/** Rows that follow from events (set-cooldown, clear-cooldown) and what people do with them. */
export type CooldownStore = {
  /** Those that last beyond `at`, soonest end first. */
  list(organizationId: OrganizationId, at: number): Promise<Cooldown[]>
  /** What does not fit is kept; answers with the number cleared. */
  clear(organizationId: OrganizationId, which: CooldownFilter): Promise<number>
  /** Those that ended before `before`. */
  sweep(organizationId: OrganizationId, before: number): Promise<void>
}

export type CooldownFilter = { provider?: string; scope?: Cooldown['scope']; key?: string }

export type ModelNoteStore = {
  get(organizationId: OrganizationId, provider: string, model: string): Promise<ModelNotes>
  list(organizationId: OrganizationId): Promise<{ provider: string; model: string; notes: ModelNotes }[]>
  forget(organizationId: OrganizationId, provider: string, model: string): Promise<boolean>
}
