import { type AuditEntry, type AuditOutcome, type ChainedEntry, newAuditTicket } from '../../core/audit.ts'
import { defined } from '../../core/defined.ts'
import type { OrganizationId } from '../../core/id.ts'
import { Problem } from '../../core/problem.ts'
import type { ListPage } from '../../ports/list-page.ts'
import type { ServiceContext } from '../service-context.ts'
import { organizationFor } from './organization-for.ts'

type AuditedAction = {
  verb: string
  object?: string
  detail?: string
  outcome?: AuditOutcome
  organizationId?: OrganizationId
}

/** An entry of the audit log for an action of the caller of this context, at the current time. */
export function newAuditEntry(
  { verb, object, detail, outcome = 'done', organizationId }: AuditedAction,
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
      detail: detail || undefined,
    }),
  }
}

/**
 * Performs an action with its entry in the transaction that changes something. A result of undefined or false means
 * that the action was not done, and has no entry.
 */
export async function withAudit<T>(action: AuditedAction, context: ServiceContext, work: () => Promise<T>): Promise<T> {
  const { audit } = context.deps.store
  const ticket = newAuditTicket(newAuditEntry(action, context))
  try {
    const result = await audit.within(ticket, work)
    if (ticket.state !== 'written' && result !== undefined && result !== false) await audit.append(ticket.entry)
    return result
  } finally {
    ticket.state = 'closed'
  }
}

/** Before an action that is no transaction: if this cannot be written, the action does not begin. */
export const auditStart = (action: AuditedAction, context: ServiceContext): Promise<void> =>
  context.deps.store.audit.append(newAuditEntry({ ...action, outcome: 'started' }, context))

export async function listAudit(
  { organizationId, page }: { organizationId?: string; page: ListPage },
  context: ServiceContext,
): Promise<ChainedEntry[]> {
  const organization = await organizationFor(organizationId, context)
  const entries = await context.deps.store.audit.list(organization, page)
  if (entries) return entries
  throw new Problem(
    'not-found',
    `Unknown cursor "${page.after ?? page.before}". Use the id of an audit entry in this list.`,
  )
}
