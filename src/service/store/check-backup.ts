import type { CheckedDatabase, CheckedRestoredDatabase } from '../../ports/backups.ts'
import type { ServiceContext } from '../service-context.ts'
import { checkStore } from './check-store.ts'
import { allOrganizations, findUnreadableSecrets } from './unreadable-secrets.ts'

/** Runs doctor for a backup; `isCopy` if no process uses this database. */
export async function checkBackup(context: ServiceContext, options: { isCopy: boolean }): Promise<CheckedDatabase> {
  const { runs, conversations, messages, violations } = await checkStore(context, options)
  return {
    counts: { runs, conversations, messages },
    violations: violations.map(({ invariant, where, detail }) => `${invariant}: ${where}: ${detail}`),
  }
}

/** Doctor for a restored database, with the secrets that its home cannot decrypt and the time of its newest run. */
export async function checkRestored(context: ServiceContext): Promise<CheckedRestoredDatabase> {
  const { store } = context.deps
  const newest: number[] = []
  for (const organizationId of await allOrganizations(store))
    for (const { createdAt } of await store.runs.list(organizationId, {}, { limit: 1 })) newest.push(createdAt)
  return {
    ...(await checkBackup(context, { isCopy: true })),
    unreadable: await findUnreadableSecrets(context),
    newestRunAt: newest.length === 0 ? undefined : Math.max(...newest),
  }
}
