import type { BlockId, PassageId, ScheduleId } from './id.ts'
import type { Schedule } from './schedule.ts'

/**
 * A change that a tool makes to our own database. It is part of the event that ends the call and is written in the same
 * transaction: either both the change and the result exist or neither does.
 */
export type ToolWrite =
  /** Optimistic locking: written only if the block still has the version the tool read. */
  | { type: 'replace-block'; blockId: BlockId; value: string; version: number }
  | { type: 'insert-passage'; passageId: PassageId; text: string; tags: string[] }
  /** Created and attached to the agent. Stale if the agent has another block with the label. */
  | { type: 'create-block'; blockId: BlockId; label: string; value: string; description?: string }
  /** Detached from the agent; the block itself stays. */
  | { type: 'detach-block'; blockId: BlockId }
  /** Stale if the block is read-only, or the label is taken. */
  | { type: 'relabel-block'; blockId: BlockId; label?: string; description?: string }
  /** Stale if one of the limits is reached; `ofOrganization` 0 means no limit. */
  | { type: 'create-schedule'; schedule: Schedule; limits: { own: number; ofOrganization: number } }
  /** Stale if it is gone. Only one that the agent made. */
  | { type: 'delete-schedule'; scheduleId: ScheduleId }

/** The tool result when another writer changed the row after the tool read it. */
export const STALE_WRITE_OUTPUT =
  'Nothing was changed: another call or person changed the same thing at the same time. Read it again, then decide.'
