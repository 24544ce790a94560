import type { Cooldown } from '../../core/credential.ts'
import type { CooldownFilter } from '../../ports/credential-store.ts'
import type { CredentialDesk } from './credentials.ts'

/** What rests now, until when and why; the soonest end first. */
export const listCooldowns = ({ world, organizationId }: CredentialDesk): Promise<Cooldown[]> =>
  world.store.cooldowns.list(organizationId, world.clock.now())

/** Lets credentials and endpoints be asked again at once. Without a filter all of them; answers with how many. */
export async function clearCooldowns(
  filter: CooldownFilter,
  { world, organizationId }: CredentialDesk,
): Promise<{ cleared: number }> {
  return { cleared: await world.store.cooldowns.clear(organizationId, filter) }
}
