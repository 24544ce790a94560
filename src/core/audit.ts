import type { OrganizationId } from './id.ts'
import type { BuiltInActor, KeyId, UserId } from './people.ts'

export type AuditId = `audit-${string}`

/** `refused`: not authenticated or not allowed. `failed`: allowed, but it did not succeed. */
export type AuditOutcome = 'done' | 'refused' | 'failed'

/** One audited action. It contains no secrets and no message content. */
export type AuditEntry = {
  id: AuditId
  at: number
  organizationId: OrganizationId
  /** `unknown`: the request had no valid key. */
  actor: KeyId | BuiltInActor | 'unknown'
  userId?: UserId
  from?: string
  /** For example `key.create`, or a method and a route. */
  verb: string
  /** The id of the affected object. */
  object?: string
  outcome: AuditOutcome
  status?: number
  requestId?: string
}
