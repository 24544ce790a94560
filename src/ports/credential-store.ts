import type { Cooldown, Credential, CredentialId, OAuthDetails } from '../core/credential.ts'
import type { OrganizationId } from '../core/id.ts'
import type { ModelNote } from '../core/model-note.ts'

/** Encrypted by `SecretBox`, bound to the credential's id. */
export type SealedSecret = { secret: string; refreshToken?: string }

/** `refreshingBy`: id of the last refresh claim that was not released; it may have expired. */
export type StoredCredential = Credential & { sealed: SealedSecret; refreshingBy?: string }

/** A new secret for the credential at `generation`. It also revives a dead credential. */
type Renewal = {
  generation: number
  sealed: SealedSecret
  expiresAt?: number
  oauth?: OAuthDetails
  at: number
}

export type CredentialStore = {
  /** False: another credential of this provider has the label. */
  add(credential: StoredCredential): Promise<boolean>
  get(organizationId: OrganizationId, id: CredentialId): Promise<StoredCredential | undefined>
  list(organizationId: OrganizationId, provider?: string): Promise<StoredCredential[]>
  /** Also removes its cooldown. */
  remove(organizationId: OrganizationId, id: CredentialId): Promise<boolean>
  /**
   * All rows needed to choose a credential, in one query: credentials in order, and cooldowns, including those of
   * credentials without a row.
   */
  pool(
    organizationId: OrganizationId,
    provider: string,
  ): Promise<{ credentials: StoredCredential[]; cooldowns: Cooldown[] }>
  /**
   * Exclusive claim to refresh this generation, until `leaseMs` have passed or it is released. `held`: another process
   * has the claim. `moved`: the credential has another generation, is dead or is gone.
   */
  claimRefresh(
    id: CredentialId,
    claim: { claimId: string; generation: number; leaseMs: number },
  ): Promise<'claimed' | 'held' | 'moved'>
  /** Stores the new secret and ends the claim. False: another process renewed it first, or it is gone. */
  renew(id: CredentialId, renewal: Renewal): Promise<boolean>
  releaseRefresh(id: CredentialId, claim: { claimId: string; failure: string }): Promise<void>
  /**
   * Marks it dead until it is renewed, and ends the claim. False: it was renewed first, so the verdict concerns an old
   * secret.
   */
  markDead(
    id: CredentialId,
    verdict: { generation: number; reason: string; detail: string; at: number },
  ): Promise<boolean>
  countUses(uses: readonly { id: CredentialId; uses: number; at: number }[]): Promise<void>
  /** Pages over all organizations, for key rotation. `after` is the last number seen. */
  sealedPage(after: number, limit: number): Promise<{ number: number; id: CredentialId; sealed: SealedSecret }[]>
  /** Replaces the ciphertext of unchanged secrets. False: they changed meanwhile. */
  reseal(id: CredentialId, from: SealedSecret, to: SealedSecret): Promise<boolean>
}

/** Cooldowns: turns set and clear them in commits, operators list and clear them. */
export type CooldownStore = {
  /** Cooldowns that end after `at`, earliest end first. */
  list(organizationId: OrganizationId, at: number): Promise<Cooldown[]>
  /** Clears matching cooldowns; returns how many. */
  clear(organizationId: OrganizationId, which: CooldownFilter): Promise<number>
  /** Deletes cooldowns that ended before `before`. */
  sweep(organizationId: OrganizationId, before: number): Promise<void>
}

export type CooldownFilter = { provider?: string; scope?: Cooldown['scope']; key?: string }

/** Notes of models: turns write them in the commit of an answer, operators list and forget them. */
export type ModelNoteStore = {
  /** All notes on one model, expired ones included. */
  get(organizationId: OrganizationId, provider: string, model: string): Promise<ModelNote[]>
  /** Notes that expire after `at`. */
  list(organizationId: OrganizationId, at: number): Promise<ModelNote[]>
  /** Returns how many there were. */
  forget(organizationId: OrganizationId, which: NoteFilter): Promise<number>
}

type NoteFilter = { provider?: string; model?: string }
