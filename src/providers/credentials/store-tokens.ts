import type { CredentialId } from '../../core/credential.ts'
import { defined } from '../../core/defined.ts'
import type { OrganizationId } from '../../core/id.ts'
import { Problem } from '../../core/problem.ts'
import type { Clock } from '../../ports/clock.ts'
import type { CredentialStore } from '../../ports/credential-store.ts'
import type { Randomness } from '../../ports/randomness.ts'
import type { SecretBox } from '../../ports/secret-box.ts'
import type { Tokens } from '../../ports/token-refresh.ts'

type OAuthLogin = { provider: string; label: string; flow: string; tokens: Tokens }

type StoreTokensDeps = {
  organizationId: OrganizationId
  store: CredentialStore
  box: SecretBox
  clock: Pick<Clock, 'now'>
  randomness: Pick<Randomness, 'uuid'>
}

/** Adds a credential, or replaces the tokens of the one with that label, which revives a dead credential. */
export async function storeTokens(login: OAuthLogin, deps: StoreTokensDeps): Promise<CredentialId> {
  const { organizationId, store, box, clock, randomness } = deps
  const { provider, label, flow, tokens } = login
  const { secret, refreshToken, expiresAt, headers, baseUrl } = tokens
  const details = {
    ...defined({ expiresAt }),
    oauth: { flow, ...defined({ headers, baseUrl }) },
  }
  const sealedFor = (id: CredentialId) => ({
    secret: box.seal(secret, id),
    ...defined({ refreshToken: refreshToken === undefined ? undefined : box.seal(refreshToken, id) }),
  })
  for (;;) {
    const at = clock.now()
    const existing = (await store.list(organizationId, provider)).find((row) => row.label === label)
    if (existing && existing.kind !== 'oauth')
      throw new Problem(
        'conflict',
        `The label "${label}" is taken by an API key of ${provider}. Choose another label for the login.`,
      )
    if (existing) {
      const { id, generation } = existing
      if (await store.renew(id, { generation, sealed: sealedFor(id), ...details, at })) return id
      continue
    }
    const id: CredentialId = `credential-${randomness.uuid()}`
    const isAdded = await store.add({
      id,
      organizationId,
      provider,
      label,
      kind: 'oauth',
      source: 'stored',
      priority: 0,
      useCount: 0,
      state: { type: 'ok' },
      generation: 1,
      createdAt: at,
      updatedAt: at,
      ...details,
      sealed: sealedFor(id),
    })
    if (isAdded) return id
  }
}
