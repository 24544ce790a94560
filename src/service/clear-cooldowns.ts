import type { CooldownFilter } from '../ports/credential-store.ts'
import type { CredentialDesk } from './credential-desk.ts'

/** Lets credentials and endpoints be asked again at once. Without a filter all of them; answers with how many. */
export async function clearCooldowns(
  filter: CooldownFilter,
  { world, organizationId }: CredentialDesk,
): Promise<{ cleared: number }> {
  return { cleared: await world.store.cooldowns.clear(organizationId, filter) }
}
