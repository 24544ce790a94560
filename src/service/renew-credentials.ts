import { Problem } from '../core/problem.ts'
import type { Refreshed } from '../ports/credentials.ts'
import type { ListedCredential } from './credential-desk.ts'
import type { Desk } from './desk.ts'
import { listCredentials } from './list-credentials.ts'
import { refreshCredential } from './refresh-credential.ts'

export type Renewed = { credential: ListedCredential; refreshed: Refreshed }

export type Renewals = {
  renewed: Renewed[]
  /** Variables that hold a key: they are read anew for each attempt, so there is nothing to renew. */
  variables: string[]
}

/** Renews all credentials of a provider, or the one with this id or label. */
export async function renewCredentials(
  { which, signal }: { which: string; signal: AbortSignal },
  desk: Desk,
): Promise<Renewals> {
  const { stored, environment } = await listCredentials(desk)
  const ofProvider = stored.filter(({ provider }) => provider === which)
  const variables = environment.filter(({ provider }) => provider === which).map(({ variable }) => variable)
  const meant = ofProvider.length > 0 ? ofProvider : stored.filter(({ id, label }) => id === which || label === which)
  if (meant.length === 0 && variables.length > 0) return { renewed: [], variables }
  if (meant.length === 0)
    throw new Problem(
      'not-found',
      `No provider or credential "${which}" has anything to renew. \`holdfast auth list\` shows what there is.`,
    )
  const renewed: Renewed[] = []
  // One after the other: they may share an account, and nobody is in a hurry.
  for (const { id } of meant) {
    const { refreshed } = await refreshCredential({ idOrLabel: id, signal }, desk)
    const credential = (await listCredentials(desk)).stored.find((one) => one.id === id)
    if (credential) renewed.push({ credential, refreshed })
  }
  return { renewed, variables }
}
