import {
  type Cooldown,
  type Credential,
  type CredentialId,
  maskedSecret,
  type OAuthDetails,
} from '../../core/credential.ts'
import { defined } from '../../core/defined.ts'
import { MCP_PROVIDER } from '../../core/mcp-oauth.ts'
import { Problem } from '../../core/problem.ts'
import type { EngineDeps } from '../../engine/engine-deps.ts'
import type { EnvironmentCredential } from '../../ports/credential-admin.ts'
import type { StoredCredential } from '../../ports/credential-store.ts'
import type { RefreshResult } from '../../ports/credentials.ts'
import type { ServiceContext } from '../service-context.ts'

/** The part of the service context that the credential verbs use. */
export type CredentialContext = Pick<ServiceContext, 'organizationId' | 'credentialAdmin'> & {
  deps: Pick<EngineDeps, 'store' | 'clock' | 'randomness' | 'credentials'>
}

/** A credential without its secret. `hint` is the masked end of it, absent if it cannot be decrypted. */
export type ListedCredential = Credential & { hint?: string; cooldown?: Cooldown }

export type CredentialList = {
  /** By provider, in the order in which they are used. */
  stored: ListedCredential[]
  environment: EnvironmentCredential[]
}

/** Every credential this process can use, with its cooldown; never a secret. */
export async function listCredentials(context: CredentialContext, provider?: string): Promise<CredentialList> {
  const { store, clock } = context.deps
  const rows = await credentialsOfProviders(context, provider)
  const cooldowns = await store.cooldowns.list(context.organizationId, clock.now())
  const cooldownById = new Map(cooldowns.flatMap((one) => (one.scope === 'credential' ? [[one.key, one]] : [])))
  const stored = rows.map((row): ListedCredential => {
    const secret = context.credentialAdmin.box.open(row.sealed.secret, row.id)
    const cooldown = cooldownById.get(row.id)
    return {
      ...withoutSecrets(row),
      ...defined({ hint: secret === undefined ? undefined : maskedSecret(secret), cooldown }),
    }
  })
  const environment = context.credentialAdmin.environment()
  return { stored, environment: environment.filter((key) => provider === undefined || key.provider === provider) }
}

export type AddCredentialRequest = {
  provider: string
  label?: string
  secret: string
  /** Makes it an OAuth credential, which is refreshed automatically. */
  refreshToken?: string
  oauth?: OAuthDetails
  expiresAt?: number
  priority?: number
  /** `replace`: store the new secret in the credential with this label, and revive it if it is dead. */
  onSameLabel?: 'refuse' | 'replace'
}

/** Stores a key or token, encrypted. The result has a masked hint of it. */
export async function addCredential(
  request: AddCredentialRequest,
  context: CredentialContext,
): Promise<ListedCredential> {
  const { box } = context.credentialAdmin
  const { store, clock, randomness } = context.deps
  const { organizationId } = context
  const provider = requireText(request.provider, 'the name of a provider')
  const secret = requireText(request.secret, 'a secret')
  const label = request.label?.trim() || 'default'
  const sealedFor = (id: CredentialId) => ({
    secret: box.seal(secret, id),
    ...defined({ refreshToken: request.refreshToken === undefined ? undefined : box.seal(request.refreshToken, id) }),
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
  if (await store.credentials.add(fresh)) return toListed(withoutSecrets(fresh), secret)

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
  if (renewed) return toListed(withoutSecrets(renewed), secret)
  throw new Problem(
    'conflict',
    `${provider} already has a credential labeled "${label}". Choose another label, or replace its secret.`,
    { provider, label },
  )
}

/** Deletes a stored credential and its cooldown. */
export async function removeCredential(idOrLabel: string, context: CredentialContext): Promise<Credential> {
  const credential = await requireCredential(idOrLabel, context)
  await context.deps.store.credentials.remove(context.organizationId, credential.id)
  return withoutSecrets(credential)
}

type RefreshCredentialRequest = { idOrLabel: string; signal: AbortSignal }

/** Refreshes a credential now, even if it is still valid; concurrent refreshes share one result. */
export async function refreshCredential(
  { idOrLabel, signal }: RefreshCredentialRequest,
  context: CredentialContext,
): Promise<{ id: CredentialId; refreshed: RefreshResult }> {
  const { id } = await requireCredential(idOrLabel, context)
  // No secret has failed, so the stored one is refreshed.
  return { id, refreshed: await context.deps.credentials.refresh(id, { failedSecret: '', signal }) }
}

export type RenewedCredential = { credential: ListedCredential; refreshed: RefreshResult }

type RenewCredentialsResult = {
  renewed: RenewedCredential[]
  /** Environment variables that hold a key: they are read for each attempt, so there is nothing to refresh. */
  variables: string[]
}

/** Refreshes all credentials of a provider, or the one with this id or label. */
export async function renewCredentials(
  { which, signal }: { which: string; signal: AbortSignal },
  context: ServiceContext,
): Promise<RenewCredentialsResult> {
  const { stored, environment } = await listCredentials(context)
  const ofProvider = stored.filter(({ provider }) => provider === which)
  const variables = environment.filter(({ provider }) => provider === which).map(({ variable }) => variable)
  const matching =
    ofProvider.length > 0 ? ofProvider : stored.filter(({ id, label }) => id === which || label === which)
  if (matching.length === 0 && variables.length > 0) return { renewed: [], variables }
  if (matching.length === 0)
    throw new Problem(
      'not-found',
      `There is no provider or credential "${which}" to refresh. \`holdfast auth list\` lists the credentials.`,
    )
  const renewed: RenewedCredential[] = []
  // Sequential: they may share an account.
  for (const { id } of matching) {
    const { refreshed } = await refreshCredential({ idOrLabel: id, signal }, context)
    const credential = (await listCredentials(context)).stored.find((one) => one.id === id)
    if (credential) renewed.push({ credential, refreshed })
  }
  return { renewed, variables }
}

/** By id, or by a label that only one credential has. */
export async function requireCredential(idOrLabel: string, context: CredentialContext): Promise<StoredCredential> {
  const all = await credentialsOfProviders(context)
  const found = all.filter(({ id, label }) => id === idOrLabel || label === idOrLabel)
  if (found.length === 1) return found[0]!
  if (found.length > 1) {
    const ids = found.map(({ id, provider }) => `${id} (${provider})`).join(', ')
    throw new Problem('conflict', `Several credentials have the label "${idOrLabel}". Give the id: ${ids}.`)
  }
  if (isEnvironmentCredential(idOrLabel, context))
    throw new Problem(
      'conflict',
      `Credential ${idOrLabel} comes from an environment variable. Change or unset that variable.`,
    )
  throw new Problem('not-found', `There is no credential "${idOrLabel}".`)
}

/** Tokens of MCP servers are shown and ended with their server. */
async function credentialsOfProviders({ deps, organizationId }: CredentialContext, provider?: string) {
  const all = await deps.store.credentials.list(organizationId, provider)
  return all.filter((row) => row.provider !== MCP_PROVIDER)
}

const isEnvironmentCredential = (id: string, { credentialAdmin }: CredentialContext): boolean =>
  credentialAdmin.environment().some((key) => key.id === id)

/** Also without the ciphertext: no caller needs it. */
function withoutSecrets({ sealed: _sealed, refreshingBy: _claim, ...credential }: StoredCredential): Credential {
  return credential
}

const toListed = (credential: Credential, secret: string): ListedCredential => ({
  ...credential,
  hint: maskedSecret(secret),
})

function requireText(text: string, what: string): string {
  const trimmed = text.trim()
  if (trimmed === '') throw new Problem('invalid', `A credential needs ${what}.`)
  return trimmed
}
