import { DAY_MS } from '../../core/duration.ts'
import type { LastBackup } from '../../ports/backups.ts'
import type { Spending } from '../../ports/shares.ts'
import type { RunCounts } from '../../ports/store.ts'
import type { SandboxCheck } from '../../ports/workspaces.ts'
import { type ListedProvider, listProviders } from '../providers/providers.ts'
import type { ServiceContext } from '../service-context.ts'

type ServerHealth = {
  providers: ListedProvider[]
  runs: RunCounts
  /** Workers with a lease, of all servers of the database. */
  workers: string[]
  /** Conversations whose messages are not all in the search index, at most `MAX_LAGGING`. */
  lagging: number
  sandbox: SandboxCheck
  lastBackup: LastBackup | undefined
}

/** More are not counted. */
const MAX_LAGGING = 100

/** What an operator looks at first. */
export async function readServerHealth(context: ServiceContext): Promise<ServerHealth> {
  const [providers, runs, workers, lagging, sandbox, lastBackup] = await Promise.all([
    listProviders(context),
    context.deps.store.runs.countActive(),
    context.snapshot.liveWorkers(),
    context.deps.store.messageSearch.countLagging(MAX_LAGGING),
    context.workspaces.check(),
    context.backups.last(),
  ])
  return { providers, runs, workers: [...workers].toSorted(), lagging, sandbox, lastBackup }
}

type DaySpending = Spending & { day: string }

/** What the organization spent on each of the last days, the newest first. */
export async function readSpending(days: number, { deps, organizationId }: ServiceContext): Promise<DaySpending[]> {
  const today = deps.clock.now()
  const names = Array.from({ length: days }, (_, back) => new Date(today - back * DAY_MS).toISOString().slice(0, 10))
  return Promise.all(
    names.map(async (day) => {
      const accounts = await deps.store.shares.spentOn(organizationId, day)
      const whole = accounts.find(({ account }) => account === '')
      return { day, microDollars: whole?.microDollars ?? 0, tokens: whole?.tokens ?? 0 }
    }),
  )
}
