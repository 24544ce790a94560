import type { Change, ChangePosition } from '../core/change.ts'
import type { OrganizationId } from '../core/id.ts'

/**
 * `current`: all earlier changes were delivered. `reload`: changes are missing here (they were removed, or there were
 * too many); the reader fetches what it shows again and continues from the position.
 */
export type FeedItem =
  | { type: 'changes'; changes: Change[]; position: ChangePosition }
  | { type: 'current'; position: ChangePosition }
  | { type: 'reload'; position: ChangePosition }

/** The changes of an organization as they commit, in every process of the database. */
export type ChangeFeed = {
  /** Without `after`: from now on. */
  watch(options: {
    organizationId: OrganizationId
    after?: ChangePosition
    signal: AbortSignal
  }): AsyncGenerator<FeedItem, void>
}
