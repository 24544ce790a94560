import type { Change, ChangePosition } from '../core/change.ts'
import type { OrganizationId } from '../core/id.ts'

/** The changes of a page, or `gone`: older changes were removed, or the database is an older copy of itself. */
type ChangesAfter = { type: 'changes'; changes: Change[] } | { type: 'gone' }

/** The feed of changes. The database writes it, in the transaction of each change. */
export type ChangeStore = {
  /** The newest position whose predecessors are all visible. */
  newest(): Promise<ChangePosition>
  /** Of one organization, or of all for the dispatcher of a process; in order, at most `limit`. */
  after(position: ChangePosition, options: { organizationId?: OrganizationId; limit: number }): Promise<ChangesAfter>
  /** Remembers the newest position of this moment and removes the changes before the last mark that is older than `keptMs`. */
  prune(now: number, keptMs: number): Promise<void>
}
