import type { OrganizationId } from './id.ts'
import { canonicalJson, type Json } from './json.ts'
import type { BuiltInActor, KeyId, UserId } from './people.ts'

export type AuditId = `audit-${string}`

/**
 * `started`: written before an action that is no transaction, such as an export. `refused`: not authenticated or not
 * allowed. `failed`: allowed, but it did not succeed.
 */
export const AUDIT_OUTCOMES = ['done', 'started', 'refused', 'failed'] as const

export type AuditOutcome = (typeof AUDIT_OUTCOMES)[number]

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
  /** Verdicts, names of changed fields, the name of a tool. */
  detail?: string
  outcome: AuditOutcome
  status?: number
  requestId?: string
}

/** An entry in the chain of its organization. Entries from before the chain have neither. */
export type ChainedEntry = AuditEntry & { sequence?: number; hash?: string }

/** The newest entry of a chain. */
export type ChainHead = { sequence: number; hash: string }

export const EMPTY_CHAIN: ChainHead = { sequence: 0, hash: '' }

/** What the hash of an entry covers: all of it, its place, and through the hash before it everything earlier. */
export function chainedText({ hash: _, ...entry }: ChainedEntry, previous: ChainHead): string {
  return `${previous.hash}\n${canonicalJson(entry as Json)}`
}

/** An entry that goes into the first transaction of an action that changes something. */
export type AuditTicket = {
  entry: AuditEntry
  /** `taken`: a transaction tries to write it. `closed`: the action is over. */
  state: 'open' | 'taken' | 'written' | 'closed'
}

export const newAuditTicket = (entry: AuditEntry): AuditTicket => ({ entry, state: 'open' })
