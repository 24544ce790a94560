import type { GatewayAccount } from '../../core/gateway/account.ts'
import type { RunId } from '../../core/id.ts'
import { checkGateway } from '../../core/invariants/gateway.ts'
import type { Violation } from '../../core/invariants/record.ts'
import { isSettled } from '../../core/run.ts'
import type { ServiceContext } from '../service-context.ts'

/** The newest rows of each account: what is stuck is not older than that for long. */
const ROWS = 1_000

/** Checks the invariants of the gateway. A violation is reported only if a second read confirms it: rows move. */
export async function checkAllGateway(context: ServiceContext, workers: ReadonlySet<string>): Promise<Violation[]> {
  const violations: Violation[] = []
  for (const account of await context.deps.store.gateway.accounts(context.organizationId)) {
    const suspected = await checkAccount(account, { context, workers })
    if (suspected.length === 0) continue
    const details = new Set(suspected.map(({ detail }) => detail))
    violations.push(...(await checkAccount(account, { context, workers })).filter(({ detail }) => details.has(detail)))
  }
  return violations
}

type Checking = { context: ServiceContext; workers: ReadonlySet<string> }

async function checkAccount(account: GatewayAccount, { context, workers }: Checking): Promise<Violation[]> {
  const { store, clock } = context.deps
  const { organizationId, name } = account
  const filter = { account: name, limit: ROWS }
  // In the order in which rows follow from each other backwards, so that none of them is missing.
  const inbound = await store.gateway.inbound(organizationId, filter)
  const deliveries = await store.gateway.deliveries({ organizationId, account: name }, ROWS)
  const outbound = await store.gateway.sent(organizationId, filter)
  const runs = new Set<RunId>()
  for (const { runId } of inbound)
    if (runId && !runs.has(runId) && (await store.runs.get(organizationId, runId))) runs.add(runId)
  const overSince = new Map<RunId, number>()
  for (const { runId } of deliveries) {
    const run = await store.runs.get(organizationId, runId)
    if (run?.completedAt !== undefined && isSettled(run)) overSince.set(runId, run.completedAt)
  }
  const isOwned = account.owner !== undefined && workers.has(account.owner)
  const isWhole = outbound.length < ROWS && deliveries.length < ROWS
  return checkGateway({ account, isOwned, isWhole, inbound, outbound, deliveries, runs, overSince, now: clock.now() })
}
