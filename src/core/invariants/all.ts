import { defined } from '../defined.ts'
import { errorText } from '../error-text.ts'
import type { MessageId } from '../id.ts'
import { movedSteers } from '../steer.ts'
import { foldTurn } from '../turn.ts'
import {
  approvalBinding,
  approvalHandedOver,
  approvalsExpire,
  askedOnce,
  cancelStopsWork,
  honestOutcomes,
  oneEnd,
} from './approvals.ts'
import { type AuditRecord, auditChain } from './audit-chain.ts'
import { type BlockHistoryRecord, changesAreKept } from './block-history.ts'
import { heartbeatsHoldBack } from './heartbeats.ts'
import { type HookRecord, hookDeliveriesBecameRuns } from './hooks.ts'
import { type ImportObjectRecord, importedIsThere } from './imports.ts'
import {
  acceptedIsKept,
  callResultBijection,
  denseEvents,
  densePositions,
  durableBeforeDispatch,
  exactlyOnceIntake,
  providerValid,
  resultBeforeNext,
  singleTruth,
  steersArrive,
} from './log.ts'
import { hasOverflowed, overflowIsSolved } from './overflow.ts'
import type {
  ConversationRecord,
  Invariant,
  RunRecord,
  RunSummary,
  StoreRecord,
  StreamRecord,
  Violation,
} from './record.ts'
import {
  effectOnce,
  fencing,
  legalTransitions,
  noZombie,
  oneActiveRun,
  recoveryProgress,
  stepBudget,
  turnIsolation,
} from './runs.ts'
import { instantsSettledOnce, outcomesAreExplained, type ScheduleRecord } from './schedules.ts'
import { type StoredBytesRecord, storedBytesAreCounted } from './stored-bytes.ts'
import { oneTerminal, streamNumbers, tokensReconcile } from './streams.ts'
import { type RunTrace, traceRun } from './trace.ts'
import { type CallbackRecord, callbacksAreOwed, type DeliveryRecord, deliveriesAreTrue } from './webhooks.ts'

/** Invariants of each run. */
export const RUN_INVARIANTS: readonly Invariant<RunTrace>[] = [
  callResultBijection,
  durableBeforeDispatch,
  resultBeforeNext,
  singleTruth,
  denseEvents,
  acceptedIsKept,
  fencing,
  legalTransitions,
  noZombie,
  recoveryProgress,
  turnIsolation,
  stepBudget,
  cancelStopsWork,
  honestOutcomes,
  oneEnd,
  approvalBinding,
  approvalsExpire,
  effectOnce,
]

export const CONVERSATION_INVARIANTS: readonly Invariant<ConversationRecord>[] = [
  providerValid,
  densePositions,
  askedOnce,
]

export const STREAM_INVARIANTS: readonly Invariant<StreamRecord>[] = [streamNumbers, oneTerminal, tokensReconcile]

const AUDIT_INVARIANTS: readonly Invariant<AuditRecord>[] = [auditChain]

const SCHEDULE_INVARIANTS: readonly Invariant<ScheduleRecord>[] = [
  instantsSettledOnce,
  outcomesAreExplained,
  heartbeatsHoldBack,
]

/** Invariants across all runs. */
export const STORE_INVARIANTS: readonly Invariant<StoreRecord>[] = [
  exactlyOnceIntake,
  steersArrive,
  oneActiveRun,
  approvalHandedOver,
  overflowIsSolved,
]

/** Each list is optional; a large store is checked in pages, record by record. */
type CheckedRecords = {
  runs?: readonly RunRecord[]
  conversations?: readonly ConversationRecord[]
  streams?: readonly StreamRecord[]
}

/** Checks everything, including invariants across runs: for tests and stores that fit in memory. */
export function check({ runs = [], conversations = [], streams = [] }: CheckedRecords): Violation[] {
  return [
    ...runs.flatMap(checkRun),
    ...conversations.flatMap(checkConversation),
    ...streams.flatMap(checkStream),
    ...checkAcrossRuns({ runs: runs.map(summarize) }),
  ]
}

export function checkRun(record: RunRecord): Violation[] {
  return reportingUnreadable(record.run.id, singleTruth, () => {
    if (record.unreadable !== undefined) throw new Error(record.unreadable)
    const trace = traceRun(record)
    if (!trace) return [violation(singleTruth, record.run.id, 'its log does not begin with an accepted input')]
    return apply(RUN_INVARIANTS, trace, record.run.id)
  })
}

export const checkConversation = (record: ConversationRecord): Violation[] =>
  reportingUnreadable(record.conversation.id, providerValid, () => {
    if (record.unreadable !== undefined) throw new Error(record.unreadable)
    return apply(CONVERSATION_INVARIANTS, record, record.conversation.id)
  })

export const checkStream = (record: StreamRecord): Violation[] =>
  reportingUnreadable(record.run.id, streamNumbers, () =>
    apply(STREAM_INVARIANTS, record, `stream of ${record.run.id}`),
  )

export const checkAuditChain = (record: AuditRecord): Violation[] =>
  apply(AUDIT_INVARIANTS, record, `audit log of ${record.organizationId}`)

export const checkImportObject = (record: ImportObjectRecord): Violation[] =>
  apply([importedIsThere], record, 'imports')

export const checkBlockHistory = (record: BlockHistoryRecord): Violation[] => apply([changesAreKept], record, record.id)

export const checkStoredBytes = (record: StoredBytesRecord): Violation[] =>
  apply([storedBytesAreCounted], record, `organization ${record.organizationId}`)

export const checkSchedule = (record: ScheduleRecord): Violation[] =>
  apply(SCHEDULE_INVARIANTS, record, record.schedule.id)

export const checkCallback = (record: CallbackRecord): Violation[] => apply([callbacksAreOwed], record, record.runId)

export const checkDelivery = (record: DeliveryRecord): Violation[] =>
  apply([deliveriesAreTrue], record, `webhook delivery ${record.delivery.eventId}`)

export const checkHookDelivery = (record: HookRecord): Violation[] =>
  apply([hookDeliveriesBecameRuns], record, `delivery ${record.delivery.deliveryId ?? ''} to ${record.delivery.hookId}`)

export const checkAcrossRuns = (record: StoreRecord): Violation[] => apply(STORE_INVARIANTS, record, 'all runs')

/** The part of a run that the invariants across runs need. */
export function summarize({ run, events }: RunRecord): RunSummary {
  const answer = events.find(({ event }) => event.type === 'approval-answered')?.event
  const first = events[0]?.event
  const continues = first?.type === 'input-accepted' ? first.continues : undefined
  const inputs = events.flatMap(({ event }) =>
    event.type === 'input-accepted' || event.type === 'input-steered' ? event.inputs : [],
  )
  return {
    id: run.id,
    conversationId: run.conversationId,
    phase: run.waiting
      ? 'waiting'
      : run.status === 'running'
        ? 'running'
        : run.status === 'created'
          ? 'queued'
          : 'settled',
    inputs: inputs.map((input) => input.messageId),
    ...defined({
      moved: movedInputs(events),
      answered:
        answer?.type === 'approval-answered'
          ? { continuedBy: answer.continuedBy, decisions: answer.decisions, unread: unreadInputs(events) }
          : undefined,
      overflowed: hasOverflowed({ run, events }) ? (true as const) : undefined,
      inherited: continues ? { from: continues.runId, decisions: continues.decisions } : undefined,
    }),
  }
}

/** Undecided while the run goes on or waits. */
function movedInputs(events: RunRecord['events']): RunSummary['moved'] {
  try {
    const moved = movedSteers(foldTurn(events.map(({ event }) => event)))
    if (moved.length === 0) return undefined
    return moved.map(({ inputs, otherwise }) => ({
      to: otherwise.runId,
      inputs: inputs.map(({ messageId }) => messageId),
    }))
  } catch {
    // `checkRun` reports a log that cannot be folded.
    return undefined
  }
}

function unreadInputs(events: RunRecord['events']): MessageId[] {
  try {
    return foldTurn(events.map(({ event }) => event)).pending.map((input) => input.messageId)
  } catch {
    // `checkRun` reports a log that cannot be folded.
    return []
  }
}

const apply = <Subject>(invariants: readonly Invariant<Subject>[], subject: Subject, where: string): Violation[] =>
  invariants.flatMap((invariant) => invariant.check(subject).map((detail) => violation(invariant, where, detail)))

const violation = <Subject>(
  { id, sentence, promise }: Invariant<Subject>,
  where: string,
  detail: string,
): Violation => ({ invariant: id, sentence, promise, where, detail })

/** A record that cannot be read (a damaged row, a newer format) is a violation and does not stop the check. */
function reportingUnreadable<Subject>(
  where: string,
  invariant: Invariant<Subject>,
  check: () => Violation[],
): Violation[] {
  try {
    return check()
  } catch (fault) {
    const reason = errorText(fault)
    return [violation(invariant, where, `it cannot be read: ${reason}`)]
  }
}
