import type { AuditEntry } from '../core/audit.ts'
import type { AgentId, OrganizationId, RunId } from '../core/id.ts'

/** What remains to be erased after rows were deleted. */
export type ErasureStore = {
  /** Deleted agents that still have something to erase. */
  pending(limit: number): Promise<{ number: number; agentId: AgentId }[]>
  finished(numbers: readonly number[]): Promise<void>
  /** Those of `ids` that do not exist. */
  unknownAgents(ids: readonly AgentId[]): Promise<AgentId[]>
  unknownRuns(ids: readonly RunId[]): Promise<RunId[]>
  /** Runs of an agent after this number, in order. */
  runsOf(agentId: AgentId, after: number, limit: number): Promise<{ number: number; id: RunId }[]>
  /**
   * Takes deleted words out of the index of words, a bounded part of it with each call. False: nothing is left. Always
   * false on PostgreSQL, whose vacuum does it.
   */
  mergeWords(part: 'first' | 'next'): Promise<boolean>
  /** Writes the log back into the file and empties it. Does nothing on PostgreSQL. */
  emptyLog(): Promise<void>
  /** Deletes every row of an organization whose agents are deleted. Returns how many rows of each table. */
  eraseOrganization(id: OrganizationId, audit: AuditEntry): Promise<Record<string, number>>
  /** Agents of an organization, up to `limit`. */
  agentsOf(id: OrganizationId, limit: number): Promise<AgentId[]>
}
