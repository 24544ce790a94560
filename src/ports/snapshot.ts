import type { AuditRecord } from '../core/invariants/audit-chain.ts'
import type { BlockHistoryRecord } from '../core/invariants/block-history.ts'
import type { HookRecord } from '../core/invariants/hooks.ts'
import type { ImportObjectRecord } from '../core/invariants/imports.ts'
import type { ConversationRecord, RunRecord } from '../core/invariants/record.ts'
import type { ScheduleRecord } from '../core/invariants/schedules.ts'
import type { StoredBytesRecord } from '../core/invariants/stored-bytes.ts'
import type { CallbackRecord, DeliveryRecord } from '../core/invariants/webhooks.ts'

/** Read-only pages over the whole database, for invariant checks on a live system. */
export type SnapshotReader = {
  runs(): AsyncIterable<RunRecord>
  /** A long conversation arrives as several consecutive records. */
  conversations(): AsyncIterable<ConversationRecord>
  /** The chain of each organization's audit log, in pages. */
  auditChains(): AsyncIterable<AuditRecord>
  /** All organizations, at one moment. */
  storedBytes(): Promise<StoredBytesRecord[]>
  blockHistories(): AsyncIterable<BlockHistoryRecord>
  importObjects(): AsyncIterable<ImportObjectRecord>
  /** What became of the instants of each schedule, in pages. */
  schedules(): AsyncIterable<ScheduleRecord>
  callbacks(): AsyncIterable<CallbackRecord>
  webhookDeliveries(): AsyncIterable<DeliveryRecord>
  hookDeliveries(): AsyncIterable<HookRecord>
  liveWorkers(): Promise<Set<string>>
}
