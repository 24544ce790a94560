import type { MessageId } from '../id.ts'
import { type CallState, isUndecided, type Turn, undecidedCalls } from '../turn.ts'
import { isSame } from './log.ts'
import type { ConversationRecord, Invariant, StoreRecord } from './record.ts'
import { faultsByEvent, type RunTrace } from './trace.ts'

export const cancelStopsWork: Invariant<RunTrace> = {
  id: 'I18',
  name: 'bounded cancel',
  sentence: 'After a cancel no tool starts, and no model attempt ends except the one in progress.',
  promise: 'nothing is stuck',
  check(trace) {
    let attempts = 0
    return faultsByEvent(trace, (event, before) => {
      if (!before.cancel) return undefined
      if (event.type === 'tool-started') return `${event.callId} started after the cancel`
      const isAttempt =
        (event.type === 'answer-received' && !isKeptTextAnswer(event)) ||
        event.type === 'answer-cut' ||
        event.type === 'attempt-failed'
      if (isAttempt) attempts++
      return isAttempt && attempts > 1 ? 'an attempt started after the cancel' : undefined
    })
  },
}

/** When the ladder is exhausted, kept text becomes an answer beside the failure: one attempt, two events. */
const isKeptTextAnswer = ({
  isRest,
  finish,
  content,
}: {
  isRest?: true
  finish: string
  content: readonly unknown[]
}) => isRest === true && finish === 'length' && content.length === 0

export const honestOutcomes: Invariant<RunTrace> = {
  id: 'I19',
  name: 'cancel closes calls',
  sentence: 'A call that never started is never recorded as unknown, and one that started is never recorded as denied.',
  promise: 'nothing is hidden',
  check(trace) {
    const { final } = trace
    const dishonest = faultsByEvent(trace, (event, before) => {
      if (event.type !== 'tool-ended') return undefined
      const call = findCall(before, event.outcome.callId)
      return call && outcomeFault(call, event.outcome.status)
    })
    const open = final.phase === 'ended' && !final.continuedBy ? (final.step?.calls ?? []) : []
    const unsettled = open.filter((call) => !call.outcome)
    return [...dishonest, ...unsettled.map((call) => `the run ended and ${call.callId} has no outcome`)]
  },
}

export const oneEnd: Invariant<RunTrace> = {
  id: 'I20',
  name: 'cancel wins',
  sentence: 'A run that was cancelled before it ended has the status cancelled.',
  promise: 'nothing is stuck',
  check({ final }) {
    if (!final.cancel || final.phase !== 'ended') return []
    const { stopReason, error } = final.ended ?? {}
    const isRight = final.cancel.cause === 'time-limit' ? error?.errorType === 'time_limit' : stopReason === 'cancelled'
    return isRight ? [] : [`it was cancelled (${final.cancel.cause}) but ended with ${stopReason ?? 'no end event'}`]
  },
}

export const approvalBinding: Invariant<RunTrace> = {
  id: 'I21',
  name: 'approval binding',
  sentence: 'A guarded call starts only with the approval of exactly this call, and an approval is answered once.',
  promise: 'nothing happens twice',
  check(trace) {
    const answers = trace.events.filter(({ event }) => event.type === 'approval-answered')
    const starts = faultsByEvent(trace, (event, before) => {
      if (event.type === 'approval-answered') return answerFault(before, event.decisions)
      if (event.type !== 'tool-started') return undefined
      const undecided = (before.step?.calls ?? []).filter((call) => isUndecided(call) && !call.outcome)
      if (undecided.length > 0) return `it started while [${undecided.map((call) => call.callId)}] waited for approval`
      const call = findCall(before, event.callId)
      return call && startFault(call)
    })
    return [...starts, ...(answers.length > 1 ? [`its approval was answered ${answers.length} times`] : [])]
  },
}

export const approvalHandedOver: Invariant<StoreRecord> = {
  id: 'I21',
  name: 'approval binding',
  sentence: 'Exactly one run continues after an answered approval, with the same decisions and the unread inputs.',
  promise: 'nothing is lost',
  check({ runs }) {
    const continuingRuns = new Map(runs.flatMap((run) => (run.inherited ? [[run.id, run] as const] : [])))
    const carriedOut = new Set<string>()
    const lost = runs.flatMap(({ id, answered }) => {
      if (!answered) return []
      const { continuedBy, decisions, unread } = answered
      carriedOut.add(continuedBy)
      const continuing = continuingRuns.get(continuedBy)
      if (continuing?.inherited?.from !== id) return [`${id} was answered but ${continuedBy} does not continue it`]
      const isFaithful = isSame(continuing.inherited.decisions, decisions)
      const forgotten = unread.filter((input) => !continuing.inputs.includes(input))
      return [
        ...(isFaithful ? [] : [`${continuedBy} has other decisions than ${id} was given`]),
        ...forgotten.map((input) => `${id} had not read ${input}, and ${continuedBy} does not have it`),
      ]
    })
    const invented = [...continuingRuns.keys()].filter((id) => !carriedOut.has(id))
    return [...lost, ...invented.map((id) => `${id} continues after an approval that was never answered`)]
  },
}

export const askedOnce: Invariant<ConversationRecord> = {
  id: 'I21',
  name: 'approval binding',
  sentence: 'The id of a call that needs approval names no other such call of its conversation.',
  promise: 'nothing happens twice',
  check({ messages }) {
    const askedIn = new Map<string, MessageId>()
    return messages.flatMap(({ id, body }) => {
      if (body.role !== 'assistant') return []
      return body.calls.flatMap(({ callId, needsApproval, refusal }) => {
        if (!needsApproval || refusal) return []
        const earlier = askedIn.get(callId)
        askedIn.set(callId, id)
        return earlier ? [`${id} asks about ${callId}, and so did ${earlier}`] : []
      })
    })
  },
}

export const approvalsExpire: Invariant<RunTrace> = {
  id: 'I22',
  name: 'approvals survive',
  sentence: 'An open approval has an expiry time, and an unattended run waits for results of its client only.',
  promise: 'nothing is stuck',
  check({ run, final }) {
    const { onGuarded } = final.settings
    return [
      ...(run.waiting && run.expiresAt === undefined ? ['it waits for approval without an expiry time'] : []),
      ...(!run.waiting && run.expiresAt !== undefined ? ['it has an expiry time but does not wait for approval'] : []),
      ...(run.waiting && run.leaseOwner !== undefined
        ? [`it waits for approval but ${run.leaseOwner} holds its lease`]
        : []),
      ...(run.waiting && onGuarded === 'deny' && undecidedCalls(final).length === 0
        ? ['it waits for approval although it is unattended']
        : []),
    ]
  },
}

const findCall = (turn: Turn, callId: string): CallState | undefined =>
  turn.step?.calls.find((call) => call.callId === callId)

function outcomeFault(call: CallState, status: 'success' | 'error' | 'denied' | 'unknown'): string | undefined {
  const hasStarted = call.startedBy !== undefined
  switch (status) {
    case 'denied':
      return hasStarted ? `${call.callId} is recorded as denied but had started` : undefined
    case 'unknown':
      return hasStarted ? undefined : `${call.callId} is recorded as unknown but never started`
    case 'success':
    case 'error': {
      const needsNoStart = call.refusal !== undefined || call.decision?.verdict === 'result'
      return hasStarted || needsNoStart ? undefined : `${call.callId} has a result but never started`
    }
  }
}

function startFault(call: CallState): string | undefined {
  if (call.refusal !== undefined) return `${call.callId} can never run: ${call.refusal}`
  if (!call.needsApproval) return undefined
  if (call.decision?.verdict !== 'approve') return `${call.callId} was not approved`
  return call.decision.digest === call.digest ? undefined : `${call.callId} was approved for other arguments`
}

function answerFault(before: Turn, decisions: readonly { callId: string }[]): string | undefined {
  const pending = (before.step?.calls ?? []).filter(isUndecided).map((call) => call.callId)
  const given = decisions.map((decision) => decision.callId)
  return pending.join() === given.join() ? undefined : `it answers [${given}], the pending calls are [${pending}]`
}
