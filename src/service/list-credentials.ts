import { maskedSecret } from '../core/credential.ts'
import type { EnvironmentCredential } from '../ports/credential-care.ts'
import { type CredentialDesk, type ListedCredential, withoutSecrets } from './credential-desk.ts'

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
    const secret = desk.care?.box.open(row.sealed.secret, row.id)
    const cooldown = restOf.get(row.id)
    return {
      ...withoutSecrets(row),
      ...(secret === undefined ? {} : { hint: maskedSecret(secret) }),
      ...(cooldown ? { cooldown } : {}),
    }
  })
  const environment = desk.care?.environment() ?? []
  return { stored, environment: environment.filter((key) => provider === undefined || key.provider === provider) }
}
