import type { ConversationRecord, RunRecord } from '../core/invariants/record.ts'

/** Read-only pages over the whole database, for invariant checks on a live system. */
export type SnapshotReader = {
  runs(): AsyncIterable<RunRecord>
  /** A long conversation arrives as several consecutive records. */
  conversations(): AsyncIterable<ConversationRecord>
  liveWorkers(): Promise<Set<string>>
}
