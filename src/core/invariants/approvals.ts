import { type CallState, isUndecided, type Turn } from '../turn.ts'
import { isSame } from './log.ts'
import type { Invariant, StoreRecord } from './record.ts'
import { faultsByEvent, type RunTrace } from './trace.ts'

export const cancelStopsWork: Invariant<RunTrace> = {
  id: 'I18',
  name: 'bounded cancel',
  sentence: 'After a cancel no tool starts, and no more is heard of the model than the attempt that was under way.',
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
      return isAttempt && attempts > 1 ? 'an attempt was begun after the cancel' : undefined
    })
  },
}

/** What was kept of a text becomes an answer with the failure that leaves nothing to try: one attempt, two events. */
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
  sentence: 'A call that never started is never called unknown, and one that started is never called denied.',
  promise: 'nothing is hidden',
  check(trace) {
    const { final } = trace
    const lies = faultsByEvent(trace, (event, before) => {
      if (event.type !== 'tool-ended') return undefined
      const call = findCall(before, event.outcome.callId)
      return call && outcomeFault(call, event.outcome.status)
    })
    const open = final.phase === 'ended' && !final.continuedBy ? (final.step?.calls ?? []) : []
    const unsettled = open.filter((call) => !call.outcome)
    return [...lies, ...unsettled.map((call) => `the run ended and ${call.callId} has no outcome`)]
  },
}

export const oneEnd: Invariant<RunTrace> = {
  id: 'I20',
  name: 'cancel wins',
  sentence: 'A run that was cancelled before it ended is cancelled, whatever else happened to it.',
  promise: 'nothing is stuck',
  check({ final }) {
    if (!final.cancel || final.phase !== 'ended') return []
    const { stopReason, error } = final.ended ?? {}
    const isRight = final.cancel.cause === 'time-limit' ? error?.errorType === 'time_limit' : stopReason === 'cancelled'
    return isRight ? [] : [`it was cancelled (${final.cancel.cause}) and ended ${stopReason ?? 'without an end'}`]
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
      if (undecided.length > 0) return `it started while [${undecided.map((call) => call.callId)}] waited for a person`
      const call = findCall(before, event.callId)
      return call && startFault(call)
    })
    return [...starts, ...(answers.length > 1 ? [`its approval was answered ${answers.length} times`] : [])]
  },
}

export const approvalHandedOver: Invariant<StoreRecord> = {
  id: 'I21',
  name: 'approval binding',
  sentence:
    'An answered approval is carried out by one run, with the decisions that were given and what was not yet read.',
  promise: 'nothing is lost',
  check({ runs }) {
    const heirs = new Map(runs.flatMap((run) => (run.inherited ? [[run.id, run] as const] : [])))
    const carriedOut = new Set<string>()
    const lost = runs.flatMap(({ id, answered }) => {
      if (!answered) return []
      const { continuedBy, decisions, unread } = answered
      carriedOut.add(continuedBy)
      const heir = heirs.get(continuedBy)
      if (heir?.inherited?.from !== id) return [`${id} was answered and ${continuedBy} does not carry it out`]
      const isFaithful = isSame(heir.inherited.decisions, decisions)
      const forgotten = unread.filter((input) => !heir.inputs.includes(input))
      return [
        ...(isFaithful ? [] : [`${continuedBy} carries out other decisions than ${id} was given`]),
        ...forgotten.map((input) => `${id} had not read ${input}, and ${continuedBy} does not know of it`),
      ]
    })
    const invented = [...heirs.keys()].filter((id) => !carriedOut.has(id))
    return [...lost, ...invented.map((id) => `${id} carries out an answer that nobody gave`)]
  },
}

export const approvalsExpire: Invariant<RunTrace> = {
  id: 'I22',
  name: 'approvals survive',
  sentence: 'An open approval has a time when it lapses, and a run that may not ask anybody never waits.',
  promise: 'nothing is stuck',
  check({ run, final }) {
    const { onGuarded } = final.settings
    return [
      ...(run.waiting && run.expiresAt === undefined ? ['it waits and never expires'] : []),
      ...(!run.waiting && run.expiresAt !== undefined ? ['it has an expiry and does not wait'] : []),
      ...(run.waiting && run.leaseOwner !== undefined ? [`it waits and is held by ${run.leaseOwner}`] : []),
      ...(run.waiting && onGuarded === 'deny' ? ['it waits although there is nobody to ask'] : []),
    ]
  },
}

const findCall = (turn: Turn, callId: string): CallState | undefined =>
  turn.step?.calls.find((call) => call.callId === callId)

function outcomeFault(call: CallState, status: 'success' | 'error' | 'denied' | 'unknown'): string | undefined {
  const hasStarted = call.startedBy !== undefined
  switch (status) {
    case 'denied':
      return hasStarted ? `${call.callId} is called denied and had started` : undefined
    case 'unknown':
      return hasStarted ? undefined : `${call.callId} is called unknown and never started`
    case 'success':
    case 'error': {
      const needsNoStart = call.refusal !== undefined || call.decision?.verdict === 'result'
      return hasStarted || needsNoStart ? undefined : `${call.callId} has a result and never started`
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
  const asked = (before.step?.calls ?? []).filter(isUndecided).map((call) => call.callId)
  const given = decisions.map((decision) => decision.callId)
  return asked.join() === given.join() ? undefined : `it answers [${given}], what was asked is [${asked}]`
}
