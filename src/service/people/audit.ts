import type { AuditEntry, AuditOutcome } from '../../core/audit.ts'
import type { OrganizationId } from '../../core/id.ts'
import { Problem } from '../../core/problem.ts'
import type { ListPage } from '../../ports/list-page.ts'
import type { Desk } from '../desk.ts'
import { organizationFor } from './organization-for.ts'

type Deed = { verb: string; object?: string; outcome?: AuditOutcome; organizationId?: OrganizationId }

/** A line of the audit log: what is done at this desk, by whom, now. */
export function entryOf({ verb, object, outcome = 'done', organizationId }: Deed, desk: Desk): AuditEntry {
  const { actor, userId, from, requestId, organizationId: own } = desk.caller
  const { randomness, clock } = desk.world
  return {
    id: `audit-${randomness.uuid()}`,
    at: clock.now(),
    organizationId: organizationId ?? own,
    actor,
    verb,
    outcome,
    ...(userId ? { userId } : {}),
    ...(from ? { from } : {}),
    ...(requestId ? { requestId } : {}),
    ...(object ? { object } : {}),
  }
}

export async function listAudit(
  { organizationId, page }: { organizationId?: string; page: ListPage },
  desk: Desk,
): Promise<AuditEntry[]> {
  const organization = await organizationFor(organizationId, desk)
  const entries = await desk.world.store.audit.list(organization, page)
  if (entries) return entries
  throw new Problem('not-found', 'There is no such line of the audit log to go on from.')
}
