import type { Cooldown } from '../core/credential.ts'
import type { CredentialDesk } from './credential-desk.ts'

/** What rests now, until when and why; the soonest end first. */
export const listCooldowns = ({ world, organizationId }: CredentialDesk): Promise<Cooldown[]> =>
  world.store.cooldowns.list(organizationId, world.clock.now())
