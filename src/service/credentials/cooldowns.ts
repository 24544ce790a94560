import type { Cooldown } from '../../core/credential.ts'
import type { CooldownFilter } from '../../ports/credential-store.ts'
import type { CredentialContext } from './credentials.ts'

/** What rests now, until when and why; the soonest end first. */
export const listCooldowns = ({ deps, organizationId }: CredentialContext): Promise<Cooldown[]> =>
  deps.store.cooldowns.list(organizationId, deps.clock.now())

/** Lets credentials and endpoints be asked again at once. Without a filter all of them; answers with how many. */
export async function clearCooldowns(
  filter: CooldownFilter,
  { deps, organizationId }: CredentialContext,
): Promise<{ cleared: number }> {
  return { cleared: await deps.store.cooldowns.clear(organizationId, filter) }
}
