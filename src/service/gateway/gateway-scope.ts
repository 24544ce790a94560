import type { AccountLease } from '../../core/gateway/account.ts'
import type { AccountSettings } from '../../core/gateway/settings.ts'
import type { GatewayChange } from '../../ports/gateway-store.ts'
import type { ServiceContext } from '../service-context.ts'

/** An account that this process owns, with its settings. */
export type GatewayScope = {
  lease: AccountLease
  settings: AccountSettings
  /** What is before the name of a command there, for texts that name one. */
  commandPrefix: string
}

/** Another process owns the account now: what this one was about to do is done there. */
export class LostAccount extends Error {
  constructor(account: string) {
    super(`Another process owns the account ${account} now.`)
    this.name = 'LostAccount'
  }
}

/** Writes all changes or none. Throws LostAccount if another process owns the account. */
export async function commitChanges(
  changes: readonly GatewayChange[],
  { lease }: Pick<GatewayScope, 'lease'>,
  { deps }: ServiceContext,
): Promise<void> {
  if (!(await deps.store.gateway.commit(lease, changes))) throw new LostAccount(lease.account)
}
