import {
  type Cooldown,
  type Credential,
  type CredentialId,
  maskedSecret,
  type OAuthDetails,
} from '../../core/credential.ts'
import { Problem } from '../../core/problem.ts'
import type { World } from '../../engine/world.ts'
import type { EnvironmentCredential } from '../../ports/credential-care.ts'
import type { StoredCredential } from '../../ports/credential-store.ts'
import type { Refreshed } from '../../ports/credentials.ts'
import type { Desk } from '../desk.ts'

/** What the verbs about credentials use of the desk. */
export type CredentialDesk = Pick<Desk, 'organizationId' | 'care'> & {
  world: Pick<World, 'store' | 'clock' | 'randomness' | 'credentials'>
}

/** A credential as people see it. The secret is a masked tail, or nothing where it cannot be opened. */
export type ListedCredential = Credential & { hint?: string; cooldown?: Cooldown }

export type CredentialList = {
  /** In the order in which they are taken, provider by provider. */
  stored: ListedCredential[]
  environment: EnvironmentCredential[]
}

/** Every credential this process can use, with what it rests for; never a secret. */
export async function listCredentials(desk: CredentialDesk, provider?: string): Promise<CredentialList> {
  const { store, clock } = desk.world
  const rows = await store.credentials.list(desk.organizationId, provider)
  const cooldowns = await store.cooldowns.list(desk.organizationId, clock.now())
  const restOf = new Map(cooldowns.flatMap((rest) => (rest.scope === 'credential' ? [[rest.key, rest]] : [])))
  const stored = rows.map((row): ListedCredential => {
    const secret = desk.care.box.open(row.sealed.secret, row.id)
    const cooldown = restOf.get(row.id)
    return {
      ...withoutSecrets(row),
      ...(secret === undefined ? {} : { hint: maskedSecret(secret) }),
      ...(cooldown ? { cooldown } : {}),
    }
  })
  const environment = desk.care.environment()
  return { stored, environment: environment.filter((key) => provider === undefined || key.provider === provider) }
}

export type AddCredential = {
  provider: string
  label?: string
  secret: string
  /** Makes it an OAuth credential, which is renewed by itself. */
  refreshToken?: string
  oauth?: OAuthDetails
  expiresAt?: number
  priority?: number
  /** `replace`: a new secret for the one that has this label; a dead one lives again. */
  onSameLabel?: 'refuse' | 'replace'
}

/** Keeps a key or token, sealed. What comes back shows a masked tail of it. */
export async function addCredential(request: AddCredential, desk: CredentialDesk): Promise<ListedCredential> {
  const { box } = desk.care
  const { store, clock, randomness } = desk.world
  const { organizationId } = desk
  const provider = required(request.provider, 'the name of a provider')
  const secret = required(request.secret, 'a secret')
  const label = request.label?.trim() || 'default'
  const sealedFor = (id: CredentialId) => ({
    secret: box.seal(secret, id),
    ...(request.refreshToken === undefined ? {} : { refreshToken: box.seal(request.refreshToken, id) }),
  })
  const at = clock.now()
  const expiry = request.expiresAt === undefined ? {} : { expiresAt: request.expiresAt }
  const oauth = request.oauth ? { oauth: request.oauth } : {}

  const id: CredentialId = `credential-${randomness.uuid()}`
  const fresh: StoredCredential = {
    id,
    organizationId,
    provider,
    label,
    source: 'stored',
    priority: request.priority ?? 0,
    useCount: 0,
    kind: request.oauth || request.refreshToken !== undefined ? 'oauth' : 'api-key',
    state: { type: 'ok' },
    generation: 1,
    createdAt: at,
    updatedAt: at,
    ...expiry,
    ...oauth,
    sealed: sealedFor(id),
  }
  if (await store.credentials.add(fresh)) return shown(withoutSecrets(fresh), secret)

  const known = (await store.credentials.list(organizationId, provider)).find((row) => row.label === label)
  const isReplaced =
    request.onSameLabel === 'replace' &&
    known?.kind === fresh.kind &&
    (await store.credentials.renew(known.id, {
      generation: known.generation,
      sealed: sealedFor(known.id),
      at,
      ...expiry,
      ...oauth,
    }))
  const renewed = isReplaced ? await store.credentials.get(organizationId, known!.id) : undefined
  if (renewed) return shown(withoutSecrets(renewed), secret)
  throw new Problem(
    'conflict',
    `${provider} already has a credential labelled "${label}". Choose another label, or replace its secret.`,
    { provider, label },
  )
}

/** Forgets a stored credential and what it rests for; answers with what was removed. */
export async function removeCredential(idOrLabel: string, desk: CredentialDesk): Promise<Credential> {
  const credential = await requireCredential(idOrLabel, desk)
  await desk.world.store.credentials.remove(desk.organizationId, credential.id)
  return withoutSecrets(credential)
}

type RefreshCredential = { idOrLabel: string; signal: AbortSignal }

/** Renews a credential now, also one that is still valid; renewals at the same time share one result. */
export async function refreshCredential(
  { idOrLabel, signal }: RefreshCredential,
  desk: CredentialDesk,
): Promise<{ id: CredentialId; refreshed: Refreshed }> {
  const { id } = await requireCredential(idOrLabel, desk)
  // No secret has failed, so the one that is stored is renewed.
  return { id, refreshed: await desk.world.credentials.refresh(id, { failedSecret: '', signal }) }
}

export type Renewed = { credential: ListedCredential; refreshed: Refreshed }

type Renewals = {
  renewed: Renewed[]
  /** Variables that hold a key: they are read for each attempt, so there is nothing to renew. */
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
  // One after the other: they may share an account.
  for (const { id } of meant) {
    const { refreshed } = await refreshCredential({ idOrLabel: id, signal }, desk)
    const credential = (await listCredentials(desk)).stored.find((one) => one.id === id)
    if (credential) renewed.push({ credential, refreshed })
  }
  return { renewed, variables }
}

/** By id, or by label where only one credential has it. */
export async function requireCredential(idOrLabel: string, desk: CredentialDesk): Promise<StoredCredential> {
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
  care.environment().some((key) => key.id === id)

/** Without its ciphertext: there is nothing to learn from it and no reason to hand it on. */
function withoutSecrets({ sealed: _sealed, refreshingBy: _claim, ...credential }: StoredCredential): Credential {
  return credential
}

const shown = (credential: Credential, secret: string): ListedCredential => ({
  ...credential,
  hint: maskedSecret(secret),
})

function required(text: string, what: string): string {
  const trimmed = text.trim()
  if (trimmed === '') throw new Problem('invalid', `A credential needs ${what}.`)
  return trimmed
}
