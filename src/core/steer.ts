import type { CancelCause, LoggedEvent } from './event.ts'
import type { MessageId, RunId } from './id.ts'
import type { Input } from './message.ts'
import type { Principal } from './people.ts'
import type { RunOfItsOwn } from './run.ts'

/** A steered message that no committed answer has read. */
export type UnreadSteer = {
  inputs: Input[]
  otherwise: RunOfItsOwn
  /** The turn was already being cancelled: that cancel was not meant for this message. */
  isLate: boolean
  askedBy?: Principal[]
}

/** Whether a cancel also withdraws the messages that were steered into the turn before it. */
const WITHDRAWS: Record<CancelCause, boolean> = {
  person: true,
  // The next run reads them in the history, before the message that interrupted.
  interrupt: true,
  expiry: false,
  'time-limit': false,
}

/** The steers that get runs of their own when the turn ends now. */
export const steersToMove = (steers: readonly UnreadSteer[], cancel: CancelCause | undefined): UnreadSteer[] =>
  steers.filter(({ isLate }) => isLate || cancel === undefined || !WITHDRAWS[cancel])

/** Where a message joined a turn: the event, and the messages that the turn had completed by then. */
export type JoinedTurn = { seq: number; passed: ReadonlySet<MessageId> }

/** Undefined: this request did not join the turn. */
export function findJoin(events: readonly LoggedEvent[], request: RunId): JoinedTurn | undefined {
  const joined = events.find(({ event }) => event.type === 'input-steered' && event.otherwise?.runId === request)
  if (!joined) return undefined
  const passed = new Set<MessageId>()
  const ended = new Set<string>()
  const steps: { resultsId: MessageId; callIds: string[] }[] = []
  for (const { seq, event } of events) {
    if (seq >= joined.seq) break
    if (event.type === 'tool-ended') ended.add(event.outcome.callId)
    if (event.type === 'context-compacted') passed.add(event.summaryId)
    if (event.type === 'answer-cut') passed.add(event.answerId)
    if (event.type !== 'answer-received') continue
    passed.add(event.answerId)
    steps.push({ resultsId: event.resultsId, callIds: event.calls.map(({ callId }) => callId) })
  }
  for (const { resultsId, callIds } of steps) if (callIds.every((id) => ended.has(id))) passed.add(resultsId)
  return { seq: joined.seq, passed }
}

/** The steers that the end of this turn moved; none while it has not ended, or was continued. */
export const movedSteers = ({ phase, continuedBy, steers, cancel }: EndedTurn): UnreadSteer[] =>
  phase === 'ended' && !continuedBy ? steersToMove(steers, cancel?.cause) : []

type EndedTurn = {
  phase: 'going' | 'waiting' | 'ended'
  continuedBy?: RunId
  steers: readonly UnreadSteer[]
  cancel?: { cause: CancelCause }
}
