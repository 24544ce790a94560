import type { Cooldown } from '../../core/credential.ts'
import type { CooldownFilter } from '../../ports/credential-store.ts'
import type { CredentialContext } from './credentials.ts'

/** Active cooldowns, the soonest end first. */
export const listCooldowns = ({ deps, organizationId }: CredentialContext): Promise<Cooldown[]> =>
  deps.store.cooldowns.list(organizationId, deps.clock.now())

/** Ends cooldowns, so that credentials and endpoints are used again at once. An empty filter matches all. */
export async function clearCooldowns(
  filter: CooldownFilter,
  { deps, organizationId }: CredentialContext,
): Promise<{ cleared: number }> {
  return { cleared: await deps.store.cooldowns.clear(organizationId, filter) }
}
