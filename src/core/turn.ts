import {
  type AttemptState,
  type Attempts,
  afterCompaction,
  applyRemedy,
  newAttemptState,
  resetAfterAnswer,
  shareWaitedTime,
} from './attempt-state.ts'
import { summaryTargets } from './compaction.ts'
import { defined } from './defined.ts'
import type { CancelCause, Finish, Purpose, TurnEvent, Usage } from './event.ts'
import { ENDING_OF_FAULT, type Failure } from './failure.ts'
import type { MessageId, RunId, StepId } from './id.ts'
import { type Input, summaryBody } from './message.ts'
import type { NarrowedView } from './narrowed-view.ts'
import { joinPrincipals, type Principal } from './people.ts'
import { type RunError, type RunSettings, type StopReason, waitsForAnswer } from './run.ts'
import type { UnreadSteer } from './steer.ts'
import { type Decision, type Settlement, settle, settleDenied, type ToolCall, type ToolOutcome } from './tool-call.ts'
import { type CallHistory, stillRequired } from './tool-rules.ts'
import { endNormally, endOf, endWithError, type ForcedEnd } from './turn-end.ts'
import { addUsage } from './usage.ts'

export type CallState = ToolCall & { decision?: Decision; startedBy?: number; outcome?: ToolOutcome }

type Step = { stepId: StepId; answerId: MessageId; resultsId: MessageId; finish: Finish; calls: CallState[] }

/** The state of a run in memory: the fold of its events. Never stored, always rebuilt from the log. */
export type Turn = {
  settings: RunSettings
  phase: 'going' | 'waiting' | 'ended'
  /** Accepted and not yet read by a committed answer. */
  pending: Input[]
  /** Of `pending`, what was steered into this turn; `isJoined` if anything ever was. */
  steers: readonly UnreadSteer[]
  isJoined?: boolean
  /** Answers of this run so far. An inherited one (after an approval) is not counted. */
  steps: number
  /** The latest answer and the state of its calls. */
  step?: Step
  /** The tools called so far; recorded only for agents with tool rules. */
  called: readonly string[]
  /** The attempt state for each purpose: a summary has its own target in the chain. */
  attempts: Attempts
  /** The context is compacted before the next model call. */
  isCompacting: boolean
  compactions: number
  /** The summary in progress, if it needs several requests. */
  partialSummary?: { text: string; through: number }
  narrowed?: NarrowedView
  /** Context windows that were lowered in this turn, by target handle. */
  windows: Readonly<Record<string, number>>
  /** Consecutive answers with a call that could not run. */
  strikes: number
  /** Tokens the provider counted for the last answer, prompt included. */
  contextTokens?: number
  usage: Usage
  /** Workers that died at this step. */
  deaths: number
  gaveUp?: Failure
  fault?: string
  cancel?: { cause: CancelCause; responseId?: MessageId }
  continuedBy?: RunId
  /** Who sent the inputs: a policy may keep them from approving what follows. */
  askedBy: readonly Principal[]
  ended?: { stopReason: StopReason; error?: RunError }
}

export type Action =
  | { type: 'park' }
  /** Decided by state alone: the journal adds these events to the commit that causes them. */
  | { type: 'record'; events: TurnEvent[] }
  | { type: 'run-tools'; calls: CallState[] }
  | { type: 'verify-call'; call: CallState }
  | { type: 'call-model'; target: number; notBefore: number }
  | { type: 'compact'; target: number; notBefore: number }
  | { type: 'reset' }
  | { type: 'close' }

/** Worker deaths at one step after which a run is not retried. */
export const POISON_DEATHS = 3
/** Consecutive answers with calls that cannot run (unknown tool, bad arguments) after which the run ends. */
const MAX_STRIKES = 3

export function newTurn(accepted: Extract<TurnEvent, { type: 'input-accepted' }>): Turn {
  const { inputs, settings, continues, askedBy = [] } = accepted
  const turn: Turn = {
    settings,
    phase: 'going',
    pending: inputs,
    steers: [],
    steps: 0,
    called: [],
    attempts: { answer: newAttemptState(), summary: newAttemptState() },
    isCompacting: settings.task === 'compact',
    compactions: 0,
    windows: {},
    strikes: 0,
    usage: { promptTokens: 0, completionTokens: 0 },
    deaths: 0,
    askedBy,
  }
  if (!continues) return turn
  const { stepId, answerId, resultsId, calls, decisions } = continues
  const decided = calls.map((call) => withDecision(call, decisions))
  const step: Step = { stepId, answerId, resultsId, finish: 'tool-calls', calls: decided }
  return { ...turn, step, called: withCalled(turn, calls), isJoined: inputs.length > 0 }
}

/** Rebuilds a turn from its log. The first event of every run is its accepted input. */
export function foldTurn(events: readonly TurnEvent[]): Turn {
  const [first, ...rest] = events
  if (first?.type !== 'input-accepted')
    throw new Error(`a run log must begin with input-accepted, not ${first?.type ?? 'nothing'}`)
  return rest.reduce(apply, newTurn(first))
}

/**
 * Decides what to do now, most urgent first. It reads state only, so it decides the same after a restart.
 */
export function nextAction(turn: Turn, fence: number): Action {
  if (turn.phase === 'ended') return { type: 'park' }
  if (turn.phase === 'waiting' && !turn.cancel) return { type: 'park' }

  const forcedEnd = forcedEndOf(turn)
  const open = openCalls(turn)

  // While one call of an answer waits for approval, no call of that answer runs: they are settled together.
  const needsPerson = !forcedEnd && undecidedCalls(turn).length > 0
  if (needsPerson) return record([{ type: 'turn-ended', v: 1, stopReason: 'requires_approval' }])

  const settled = open.flatMap((call) => settleWithoutRunning(call, turn, { doom: forcedEnd, fence }))
  if (settled.length > 0) return record(settled.map((outcome) => ({ type: 'tool-ended', v: 1, outcome })))

  const running = open.filter((call) => call.startedBy === fence)
  if (forcedEnd) return running.length > 0 ? { type: 'run-tools', calls: running } : record([endOf(turn, forcedEnd)])

  const unverified = open.find((call) => call.effects === 'verifiable' && isLost(call, fence))
  if (unverified) return { type: 'verify-call', call: unverified }

  const startable = callsToStart(turn, open, running)
  if (startable.length > 0)
    return record(startable.map((call) => ({ type: 'tool-started', v: 1, callId: call.callId, fence })))
  if (running.length > 0) return { type: 'run-tools', calls: running }

  if (turn.isCompacting) return { type: 'compact', ...nextAttempt(turn.attempts.summary) }
  if (turn.settings.task === 'close') return { type: 'close' }
  if (turn.settings.task) return turn.compactions === 0 ? { type: 'reset' } : record([endNormally('end_turn')])

  const last = turn.step
  const isRead = turn.pending.length === 0
  if (last && isRead && last.calls.length === 0 && last.finish === 'length')
    return record([endNormally('max_tokens_exceeded')])
  const mayEnd = isRead && requiredNow(turn).length === 0
  if (last && mayEnd && last.calls.length === 0) return record([endNormally('end_turn')])
  if (last && mayEnd && hasExited(last.calls, turn)) return record([endNormally('tool_rule')])
  if (turn.strikes >= MAX_STRIKES) return record([endWithError(ENDING_OF_FAULT['struck-out'])])
  if (turn.steps >= turn.settings.maxSteps) return record([endNormally('max_steps')])
  return { type: 'call-model', ...nextAttempt(turn.attempts.answer) }
}

const hasExited = (calls: readonly CallState[], { settings: { exitTools = [] } }: Turn): boolean =>
  calls.some(({ tool, outcome }) => outcome?.status === 'success' && exitTools.includes(tool))

/** The tools that the rules require before this turn may end. */
export const requiredNow = (turn: Turn): string[] => stillRequired(turn.settings.toolRules ?? [], callHistoryOf(turn))

/** The calls that tool rules are checked against. Refused calls do not count. */
export function callHistoryOf({ called, step }: Turn): CallHistory {
  const last = step?.calls.findLast((call) => !call.refusal)?.outcome
  return { tools: called, ...defined({ lastAnswer: last ? last.output : undefined }) }
}

const withCalled = ({ settings, called }: Turn, calls: readonly ToolCall[]): readonly string[] =>
  settings.toolRules ? [...called, ...calls.flatMap((call) => (call.refusal ? [] : [call.tool]))] : called

const nextAttempt = ({ target, retryAt }: AttemptState) => ({ target, notBefore: retryAt })

/** Folds one event. Pure and total: the live run and the replay after a crash use the same function. */
export function apply(turn: Turn, event: TurnEvent): Turn {
  switch (event.type) {
    case 'input-accepted':
      return newTurn(event)
    case 'input-steered':
      return steer(turn, event)
    case 'attempt-failed':
      return failAttempt(turn, event)
    case 'answer-received': {
      const { stepId, answerId, resultsId, finish, calls, usage } = event
      const { contextTokens: _, ...before } = readInputs(turn, event.inputsRead)
      // The count of a request that was cut says nothing about the whole conversation.
      const counted = event.wasCut ? undefined : usage.promptTokens + usage.completionTokens
      return {
        ...before,
        ...defined({ contextTokens: counted }),
        steps: turn.steps + 1,
        step: { stepId, answerId, resultsId, finish, calls },
        attempts: { answer: resetAfterAnswer(turn.attempts.answer, event), summary: newAttemptState() },
        called: withCalled(turn, calls),
        strikes: isStrike(turn, calls) ? turn.strikes + 1 : 0,
        usage: addUsage(turn.usage, usage),
      }
    }
    case 'context-compacted': {
      const { contextTokens: _, partialSummary: __, ...rest } = turn
      const answer = afterCompaction(turn.attempts.answer)
      const attempts = shareWaitedTime({ answer, summary: newAttemptState() }, answer.waitedMs)
      const compacted = { attempts, usage: addUsage(turn.usage, event.usage), isCompacting: false }
      const narrowed = event.forTurn && { summary: summaryBody(event), hides: event.forTurn.hides }
      return { ...rest, ...compacted, compactions: turn.compactions + 1, ...defined({ narrowed }) }
    }
    case 'summary-extended': {
      const { text, through, usage } = event
      const { answer, summary } = turn.attempts
      const credentialId = summary.credentialId
      const next = resetAfterAnswer(summary, defined({ credentialId }))
      const attempts = shareWaitedTime({ answer, summary: next }, summary.waitedMs)
      return { ...turn, attempts, partialSummary: { text, through }, usage: addUsage(turn.usage, usage) }
    }
    case 'answer-cut': {
      const { kept: _, ...answer } = turn.attempts.answer
      return { ...readInputs(turn, event.inputsRead), attempts: { ...turn.attempts, answer } }
    }
    case 'tool-started':
      return withCall(turn, event.callId, { startedBy: event.fence })
    case 'tool-ended':
      return clearDeaths(withCall(turn, event.outcome.callId, { outcome: event.outcome }))
    case 'approval-answered':
      return { ...turn, phase: 'ended', continuedBy: event.continuedBy }
    case 'cancel-requested': {
      // Only the first cancel counts; a second one, or one after the end, changes nothing.
      if (turn.cancel || turn.phase === 'ended') return turn
      const { cause, responseId } = event
      return { ...turn, cancel: responseId ? { cause, responseId } : { cause } }
    }
    case 'worker-lost':
      return { ...turn, deaths: turn.deaths + 1 }
    case 'fault-met':
      return { ...turn, fault: event.detail }
    case 'turn-ended': {
      const { stopReason, error } = event
      const phase = stopReason === 'requires_approval' ? 'waiting' : 'ended'
      return { ...turn, phase, ended: error ? { stopReason, error } : { stopReason } }
    }
  }
}

/** An answer with a call that cannot run, or one that ends the turn although a rule requires another call. */
const isStrike = (turn: Turn, calls: readonly ToolCall[]): boolean =>
  calls.some((call) => call.refusal !== undefined) || (calls.length === 0 && requiredNow(turn).length > 0)

function failAttempt(turn: Turn, event: Extract<TurnEvent, { type: 'attempt-failed' }>): Turn {
  const { purpose = 'answer', remedy, failure } = event
  const state = applyRemedy(turn.attempts[purpose], event)
  const started = remedy === 'compact' ? { summary: newAttemptState(state.adjustments) } : {}
  const attempts = shareWaitedTime({ ...turn.attempts, [purpose]: state, ...started }, state.waitedMs)
  const failed = {
    ...turn,
    attempts,
    windows: lowerWindow(turn, event),
    ...defined({ usage: event.usage ? addUsage(turn.usage, event.usage) : undefined }),
  }
  if (remedy === 'compact') return { ...failed, isCompacting: true }
  if (remedy !== 'give-up') return failed
  // Without a summary the context stays as it is and the turn continues; only a compaction run fails.
  if (purpose === 'summary' && !turn.settings.task) return { ...failed, isCompacting: false }
  return { ...failed, gaveUp: failure }
}

/** The chain of a purpose. */
export const targetsOf = (settings: RunSettings, purpose: Purpose = 'answer'): readonly string[] =>
  purpose === 'summary' ? summaryTargets(settings) : settings.targets

function lowerWindow(
  { windows, settings }: Turn,
  { purpose, target, window }: Extract<TurnEvent, { type: 'attempt-failed' }>,
): Turn['windows'] {
  const handle = targetsOf(settings, purpose)[target]
  return window === undefined || handle === undefined ? windows : { ...windows, [handle]: window }
}

export const openCalls = (turn: Turn): CallState[] => (turn.step?.calls ?? []).filter((call) => !call.outcome)

export const isUndecided = (call: CallState): boolean => call.needsApproval && !call.decision && !call.refusal

/** The open calls that wait for an answer from outside. */
export const undecidedCalls = (turn: Turn): CallState[] =>
  openCalls(turn).filter((call) => isUndecided(call) && waitsForAnswer(call.tool, turn.settings))

const record = (events: TurnEvent[]): Action => ({ type: 'record', events })

function forcedEndOf(turn: Turn): ForcedEnd | undefined {
  if (turn.cancel) return turn.cancel.cause === 'time-limit' ? 'time-limit' : 'cancelled'
  if (turn.fault !== undefined) return 'fault'
  if (turn.deaths >= POISON_DEATHS) return 'worker-lost'
  if (turn.gaveUp) return 'gave-up'
  return undefined
}

/** The outcome of a call that will not run (again): refused, decided by a person, lost, or stopped by the end. */
function settleWithoutRunning(
  call: CallState,
  turn: Turn,
  { doom, fence }: { doom: ForcedEnd | undefined; fence: number },
): ToolOutcome[] {
  if (call.startedBy !== undefined) {
    if (doom === 'fault') return [settle(call.callId, 'lost')]
    if (!isLost(call, fence)) return []
    const mayRunAgain = !doom && call.effects !== 'once'
    return mayRunAgain ? [] : [settle(call.callId, 'lost')]
  }
  if (doom) return [settle(call.callId, settlementBeforeStart(turn))]
  if (call.refusal) return [{ callId: call.callId, status: 'error', output: call.refusal }]
  if (isUndecided(call)) return [settle(call.callId, 'unattended')]
  return settleByDecision(call)
}

function settleByDecision(call: CallState): ToolOutcome[] {
  const decision = call.decision
  if (!decision) return []
  switch (decision.verdict) {
    case 'deny':
      return [settleDenied(call.callId, decision.reason)]
    case 'result': {
      const { status, output, images } = decision
      return [{ callId: call.callId, status, output, ...defined({ images }) }]
    }
    case 'approve': {
      // An approval is for one exact call: with other arguments it does not run.
      if (decision.digest === call.digest) return []
      return [settleDenied(call.callId, 'the approval was given for other arguments.')]
    }
  }
}

function settlementBeforeStart(turn: Turn): Settlement {
  if (!turn.cancel) return 'ended-before-start'
  switch (turn.cancel.cause) {
    case 'person':
    case 'interrupt':
      return 'cancelled-before-start'
    case 'expiry':
      return 'expired'
    case 'time-limit':
      return 'ended-before-start'
  }
}

/** Started under another fence: that worker died or lost its lease. */
const isLost = (call: CallState, fence: number): boolean => call.startedBy !== undefined && call.startedBy !== fence

/** All idle calls if every call of the answer may run in parallel; otherwise the next one, once none runs. */
function callsToStart(turn: Turn, open: CallState[], running: CallState[]): CallState[] {
  const idle = open.filter((call) => !running.includes(call))
  if (turn.step?.calls.every((call) => call.parallel)) return idle
  return running.length === 0 ? idle.slice(0, 1) : []
}

/**
 * A step whose outcomes are all known clears the count of deaths; an unknown outcome may come from the call that kills
 * the worker. A poisoned run stays poisoned: denying its open calls is not a successful step.
 */
function clearDeaths(turn: Turn): Turn {
  if (turn.deaths === 0 || turn.deaths >= POISON_DEATHS) return turn
  const isClean = turn.step?.calls.every((call) => call.outcome && call.outcome.status !== 'unknown')
  return isClean ? { ...turn, deaths: 0 } : turn
}

function steer(turn: Turn, { inputs, otherwise, askedBy }: Extract<TurnEvent, { type: 'input-steered' }>): Turn {
  const steered = {
    ...turn,
    isJoined: true,
    pending: [...turn.pending, ...inputs],
    askedBy: joinPrincipals(turn.askedBy, askedBy),
  }
  if (!otherwise) return steered
  const steer: UnreadSteer = { inputs, otherwise, isLate: turn.cancel !== undefined, ...defined({ askedBy }) }
  return { ...steered, steers: [...turn.steers, steer] }
}

/** An answer reads the first pending inputs, and a steer whole or not at all. */
function readInputs(turn: Turn, count: number): Turn {
  if (count === 0) return turn
  const pending = turn.pending.slice(count)
  const steers = turn.steers.filter(({ inputs }) => inputs.some((input) => pending.includes(input)))
  return { ...turn, pending, steers }
}

function withDecision(call: ToolCall, decisions: Decision[]): CallState {
  const decision = decisions.find((one) => one.callId === call.callId)
  return decision ? { ...call, decision } : call
}

function withCall(turn: Turn, callId: string, change: Partial<CallState>): Turn {
  if (!turn.step) return turn
  const calls = turn.step.calls.map((call) => (call.callId === callId ? { ...call, ...change } : call))
  return { ...turn, step: { ...turn.step, calls } }
}
