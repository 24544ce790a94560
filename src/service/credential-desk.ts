import type { Cooldown, Credential } from '../core/credential.ts'
import { Problem } from '../core/problem.ts'
import type { World } from '../engine/world.ts'
import type { CredentialCare } from '../ports/credential-care.ts'
import type { StoredCredential } from '../ports/credential-store.ts'
import type { Desk } from './desk.ts'

/** What the verbs about credentials use of the desk. */
export type CredentialDesk = Pick<Desk, 'organizationId' | 'care'> & {
  world: Pick<World, 'store' | 'clock' | 'randomness' | 'credentials'>
}

/** A credential as people see it. The secret is a masked tail, or nothing where it cannot be opened. */
export type ListedCredential = Credential & { hint?: string; cooldown?: Cooldown }

export function requireCare({ care }: CredentialDesk): CredentialCare {
  if (care) return care
  throw new Problem('unavailable', 'This process has no key to seal credentials with.')
}

/** By id, or by label where only one credential has it. */
export async function findCredential(idOrLabel: string, desk: CredentialDesk): Promise<StoredCredential> {
  const all = await desk.world.store.credentials.list(desk.organizationId)
  const found = all.filter(({ id, label }) => id === idOrLabel || label === idOrLabel)
  if (found.length === 1) return found[0]!
  if (found.length > 1) {
    const ids = found.map(({ id, provider }) => `${id} (${provider})`).join(', ')
    throw new Problem('conflict', `Several credentials have the label "${idOrLabel}". Give the id: ${ids}.`)
  }
  if (isOfEnvironment(idOrLabel, desk))
    throw new Problem('conflict', `${idOrLabel} comes from the environment; change it there.`)
  throw new Problem('not-found', `There is no credential "${idOrLabel}".`)
}

const isOfEnvironment = (id: string, { care }: CredentialDesk): boolean =>
  care?.environment().some((key) => key.id === id) ?? false

/** Without its ciphertext: there is nothing to learn from it and no reason to hand it on. */
export function withoutSecrets({ sealed: _sealed, refreshingBy: _claim, ...credential }: StoredCredential): Credential {
  return credential
}
