import { defined } from '../../core/defined.ts'
import type { AccountLease, GatewayAccount } from '../../core/gateway/account.ts'
import type { RawUpdate } from '../../core/gateway/incoming.ts'
import type { PlatformName } from '../../core/gateway/platforms.ts'
import type { AccountChange, GatewayCounts } from '../../ports/gateway-store.ts'
import type { ServiceContext } from '../service-context.ts'
import { LostAccount } from './gateway-scope.ts'

export type ShownAccount = GatewayAccount & Omit<GatewayCounts, 'account'>

/** The accounts that were ever configured, with what is open in each. */
export async function listAccounts({ deps, organizationId }: ServiceContext): Promise<ShownAccount[]> {
  const accounts = await deps.store.gateway.accounts(organizationId)
  const counts = new Map((await deps.store.gateway.counts(organizationId)).map((each) => [each.account, each]))
  return accounts.map((account) => {
    const { account: _, ...counted } = counts.get(account.name) ?? { account: '', ...NOTHING_OPEN }
    return { ...account, ...counted }
  })
}

const NOTHING_OPEN = { pendingInbound: 0, openOutbound: 0, unknownOutbound: 0, openDeliveries: 0 }

export const ensureAccount = (
  account: { name: string; platform: PlatformName },
  { deps, organizationId }: ServiceContext,
): Promise<void> =>
  deps.store.gateway.ensure({
    organizationId,
    account: account.name,
    platform: account.platform,
    at: deps.clock.now(),
  })

/** Takes the account for this process. Undefined: another live process owns it. */
export async function claimAccount(
  name: string,
  { deps, engine, organizationId }: ServiceContext,
): Promise<GatewayAccount | undefined> {
  if (!engine) return undefined
  return deps.store.gateway.claim({ organizationId, account: name }, engine.workerId)
}

/** Gives the account back at a graceful shutdown. */
export async function releaseAccount(lease: AccountLease, detail: string, { deps }: ServiceContext): Promise<void> {
  await deps.store.gateway.release(lease, { state: 'stopped', detail, at: deps.clock.now() })
}

export async function reportAccount(
  lease: AccountLease,
  change: Omit<AccountChange, 'at'>,
  { deps }: ServiceContext,
): Promise<void> {
  const isOwner = await deps.store.gateway.setAccount(lease, { ...change, at: deps.clock.now() })
  if (!isOwner) throw new LostAccount(lease.account)
}

/** Stores updates, and the cursor behind them. Only after this may the platform be told that they arrived. */
export async function acceptUpdates(
  { lease, updates, cursor }: { lease: AccountLease; updates: readonly RawUpdate[]; cursor: string | undefined },
  { deps }: ServiceContext,
): Promise<void> {
  const { organizationId, account, fence } = lease
  const at = deps.clock.now()
  const accepted = await deps.store.gateway.accept(
    { organizationId, account, fence, at, ...defined({ cursor }) },
    updates,
  )
  if (!accepted) throw new LostAccount(account)
}
