import { type Credential, type CredentialId, maskedSecret, type OAuthDetails } from '../core/credential.ts'
import { Problem } from '../core/problem.ts'
import type { StoredCredential } from '../ports/credential-store.ts'
import { type CredentialDesk, type ListedCredential, requireCare, withoutSecrets } from './credential-desk.ts'

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
  const { box } = requireCare(desk)
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
    ...{ id, organizationId, provider, label, source: 'stored', priority: request.priority ?? 0, useCount: 0 },
    kind: request.oauth || request.refreshToken !== undefined ? 'oauth' : 'api-key',
    ...{ state: { type: 'ok' }, generation: 1, createdAt: at, updatedAt: at },
    ...{ ...expiry, ...oauth },
    sealed: sealedFor(id),
  }
  if (await store.credentials.add(fresh)) return shown(withoutSecrets(fresh), secret)

  const known = (await store.credentials.list(organizationId, provider)).find((row) => row.label === label)
  const isReplaced =
    request.onSameLabel === 'replace' &&
    known?.kind === fresh.kind &&
    (await store.credentials.renew(known.id, {
      ...{ generation: known.generation, sealed: sealedFor(known.id), at },
      ...{ ...expiry, ...oauth },
    }))
  const renewed = isReplaced ? await store.credentials.get(organizationId, known!.id) : undefined
  if (renewed) return shown(withoutSecrets(renewed), secret)
  throw new Problem(
    'conflict',
    `${provider} already has a credential labelled "${label}". Choose another label, or replace its secret.`,
    { provider, label },
  )
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
