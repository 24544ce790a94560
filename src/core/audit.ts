import type { OrganizationId } from './id.ts'
import type { BuiltInActor, KeyId, UserId } from './people.ts'

export type AuditId = `audit-${string}`

/** `refused`: it was not let in, or not allowed. `failed`: it was allowed and did not come about. */
export type AuditOutcome = 'done' | 'refused' | 'failed'

/** One thing somebody did that others may have to account for. Never a secret, never what was said. */
export type AuditEntry = {
  id: AuditId
  at: number
  organizationId: OrganizationId
  /** `unknown` showed no key that is kept here. */
  actor: KeyId | BuiltInActor | 'unknown'
  userId?: UserId
  from?: string
  /** As `key.create`, or a method and a route. */
  verb: string
  /** The id of what it was done to. */
  object?: string
  outcome: AuditOutcome
  status?: number
  requestId?: string
}
