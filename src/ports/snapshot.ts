import type { ConversationRecord, RunRecord } from '../core/invariants/record.ts'

/** Everything, read-only and in pages, for whoever checks the invariants of a live database. */
export type SnapshotReader = {
  runs(): AsyncIterable<RunRecord>
  /** A long conversation comes in several pieces, one after the other. */
  conversations(): AsyncIterable<ConversationRecord>
  liveWorkers(): Promise<Set<string>>
}
