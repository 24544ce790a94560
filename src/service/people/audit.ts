import type { AuditEntry, AuditOutcome } from '../../core/audit.ts'
import { defined } from '../../core/defined.ts'
import type { OrganizationId } from '../../core/id.ts'
import { Problem } from '../../core/problem.ts'
import type { ListPage } from '../../ports/list-page.ts'
import type { ServiceContext } from '../service-context.ts'
import { organizationFor } from './organization-for.ts'

type AuditedAction = { verb: string; object?: string; outcome?: AuditOutcome; organizationId?: OrganizationId }

/** An entry of the audit log for an action of the caller of this context, at the current time. */
export function newAuditEntry(
  { verb, object, outcome = 'done', organizationId }: AuditedAction,
  context: ServiceContext,
): AuditEntry {
  const { actor, userId, from, requestId, organizationId: own } = context.caller
  const { randomness, clock } = context.deps
  return {
    id: `audit-${randomness.uuid()}`,
    at: clock.now(),
    organizationId: organizationId ?? own,
    actor,
    verb,
    outcome,
    ...defined({
      userId: userId || undefined,
      from: from || undefined,
      requestId: requestId || undefined,
      object: object || undefined,
    }),
  }
}

export async function listAudit(
  { organizationId, page }: { organizationId?: string; page: ListPage },
  context: ServiceContext,
): Promise<AuditEntry[]> {
  const organization = await organizationFor(organizationId, context)
  const entries = await context.deps.store.audit.list(organization, page)
  if (entries) return entries
  throw new Problem(
    'not-found',
    `Unknown cursor "${page.after ?? page.before}". Use the id of an audit entry in this list.`,
  )
}
