import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CancelCause, TurnEvent } from './event.ts'
import type { RunSettings } from './run.ts'
import type { Decision, Effects, ToolCall } from './tool-call.ts'
import { type Action, apply, foldTurn, nextAction, POISON_DEATHS, type Turn } from './turn.ts'

const settings: RunSettings = {
  targets: ['a/1', 'b/2'],
  maxSteps: 3,
  maxDurationMs: 60_000,
  streamTokens: true,
  onGuarded: 'ask',
  approvalTtlMs: 1_000,
}
const accepted = (more: Partial<RunSettings> = {}): TurnEvent => ({
  type: 'input-accepted',
  v: 1,
  settings: { ...settings, ...more },
  inputs: [{ messageId: 'message-1', role: 'user', content: [{ type: 'text', text: 'hi' }] }],
})
const call = (callId: string, more: Partial<ToolCall> = {}): ToolCall => ({
  callId,
  tool: 'thing',
  input: {},
  digest: `digest of ${callId}`,
  needsApproval: false,
  effects: 'once',
  parallel: false,
  ...more,
})
const answer = (calls: ToolCall[] = [], finish: 'stop' | 'tool-calls' | 'length' = 'stop'): TurnEvent => ({
  type: 'answer-received',
  v: 1,
  stepId: 'step-1',
  answerId: 'message-2',
  resultsId: 'message-3',
  target: 0,
  content: [{ type: 'text', text: 'well' }],
  calls,
  finish,
  usage: { promptTokens: 2, completionTokens: 3 },
  inputsRead: 1,
  streamedTo: 0,
})
const started = (callId: string, fence = 1): TurnEvent => ({ type: 'tool-started', v: 1, callId, fence })
const ended = (callId: string, status: 'success' | 'unknown' = 'success'): TurnEvent => ({
  type: 'tool-ended',
  v: 1,
  outcome: { callId, status, output: 'done' },
})
const cancelled = (cause: CancelCause = 'person'): TurnEvent => ({ type: 'cancel-requested', v: 1, cause })
const lost = (fence: number): TurnEvent => ({ type: 'worker-lost', v: 1, fence })
const steered: TurnEvent = {
  type: 'input-steered',
  v: 1,
  inputs: [{ messageId: 'message-9', role: 'user', content: [{ type: 'text', text: 'also' }] }],
}
const failed = (remedy: 'wait' | 'next-target' | 'give-up', target = 0): TurnEvent => ({
  type: 'attempt-failed',
  v: 1,
  target,
  remedy,
  retryAt: 77,
  failure: { kind: 'rate-limited', detail: 'slow down' },
})
const continued = (calls: ToolCall[], decisions: Decision[]): TurnEvent => ({
  type: 'input-accepted',
  v: 1,
  inputs: [],
  settings,
  continues: { runId: 'run-0', stepId: 'step-0', answerId: 'message-a', resultsId: 'message-r', calls, decisions },
})

const next = (log: TurnEvent[], fence = 1): Action => nextAction(foldTurn(log), fence)

/** The events that an action records, as short texts. */
function recorded(log: TurnEvent[], fence = 1): string[] {
  const action = next(log, fence)
  assert.equal(action.type, 'record', `it wants to ${action.type}`)
  return action.type === 'record' ? action.events.map(words) : []
}

function words(event: TurnEvent): string {
  if (event.type === 'tool-started') return `start ${event.callId}`
  if (event.type === 'tool-ended') return `${event.outcome.callId} ${event.outcome.status}`
  if (event.type === 'turn-ended') return `end ${event.stopReason}${event.error ? ` ${event.error.errorType}` : ''}`
  return event.type
}

test('a new turn calls the first target at once', () => {
  assert.deepEqual(next([accepted()]), { type: 'call-model', target: 0, notBefore: 0 })
})

test('an answer without calls ends the turn', () => {
  assert.deepEqual(recorded([accepted(), answer()]), ['end end_turn'])
})

test('an answer cut off by the output limit ends the turn as failed, with the reason', () => {
  assert.deepEqual(recorded([accepted(), answer([], 'length')]), ['end max_tokens_exceeded llm_error'])
})

test('an input that arrives during the last answer is read before the turn ends', () => {
  assert.equal(next([accepted(), steered, answer()]).type, 'call-model')
  assert.deepEqual(
    foldTurn([accepted(), steered, answer()]).pending.map((input) => input.messageId),
    ['message-9'],
  )
})

test('sequential calls start one by one', () => {
  const log = [accepted(), answer([call('c1'), call('c2')])]
  assert.deepEqual(recorded(log), ['start c1'])
  assert.equal(next([...log, started('c1')]).type, 'run-tools')
  assert.deepEqual(recorded([...log, started('c1'), ended('c1')]), ['start c2'])
})

test('calls start together only if all of them are parallel', () => {
  const both = { parallel: true }
  assert.deepEqual(recorded([accepted(), answer([call('c1', both), call('c2', both)])]), ['start c1', 'start c2'])
  assert.deepEqual(recorded([accepted(), answer([call('c1', both), call('c2')])]), ['start c1'])
})

test('the model is called again once every call has an outcome', () => {
  const log = [accepted(), answer([call('c1')]), started('c1'), ended('c1')]
  assert.deepEqual(next(log), { type: 'call-model', target: 0, notBefore: 0 })
})

test('a call that can never run is answered with its refusal', () => {
  assert.deepEqual(recorded([accepted(), answer([call('c1', { refusal: 'no such tool' })])]), ['c1 error'])
})

test('the step limit ends a turn that would continue', () => {
  const step = [answer([call('c1')]), started('c1'), ended('c1')]
  const [first, ...rest] = [accepted({ maxSteps: 2 }), ...step, ...step]
  assert.deepEqual(recorded([first!, ...rest]), ['end max_steps'])
  assert.equal(next([accepted({ maxSteps: 3 }), ...rest]).type, 'call-model')
})

const guarded = call('c2', { needsApproval: true })

test('while one call waits for approval no call of its answer starts', () => {
  const calls = [call('c1'), guarded, call('c3', { refusal: 'no such tool' })]
  assert.deepEqual(recorded([accepted(), answer(calls)]), ['end requires_approval'])
})

test('a waiting turn parks', () => {
  const waiting = [
    accepted(),
    answer([guarded]),
    { type: 'turn-ended', v: 1, stopReason: 'requires_approval' },
  ] as const
  assert.equal(foldTurn([...waiting]).phase, 'waiting')
  assert.deepEqual(next([...waiting]), { type: 'park' })
})

test('a cancel of a waiting turn denies every open call, with or without approval requirement', () => {
  const waiting: TurnEvent[] = [
    accepted(),
    answer([call('c1'), guarded]),
    { type: 'turn-ended', v: 1, stopReason: 'requires_approval' },
  ]
  assert.deepEqual(recorded([...waiting, cancelled('expiry')]), ['c1 denied', 'c2 denied'])
})

test('an unattended turn denies calls that need approval and continues', () => {
  const log = [accepted({ onGuarded: 'deny' }), answer([call('c1'), guarded])]
  assert.deepEqual(recorded(log), ['c2 denied'])
  assert.deepEqual(recorded([...log, ended('c2')]), ['start c1'])
})

test('approved calls start; denied calls and calls with a given result do not', () => {
  const calls = [
    call('c1', { needsApproval: true }),
    call('c2', { needsApproval: true }),
    call('c3', { needsApproval: true }),
  ]
  const log = [
    continued(calls, [
      { callId: 'c1', verdict: 'approve', digest: 'digest of c1' },
      { callId: 'c2', verdict: 'deny', reason: 'no' },
      { callId: 'c3', verdict: 'result', status: 'error', output: 'by hand' },
    ]),
  ]
  assert.deepEqual(recorded(log), ['c2 denied', 'c3 error'])
  assert.deepEqual(recorded([...log, ended('c2'), ended('c3')]), ['start c1'])
})

test('an approval of other arguments does not start the call', () => {
  const log = [continued([guarded], [{ callId: 'c2', verdict: 'approve', digest: 'another' }])]
  assert.deepEqual(recorded(log), ['c2 denied'])
})

test('a turn that takes over calls does not count their answer as its own step', () => {
  assert.equal(foldTurn([continued([guarded], [])]).steps, 0)
})

test('after the death of a worker each call is handled by its effects', () => {
  const after = (effects: Effects): Action =>
    next([accepted(), answer([call('c1', { effects })]), started('c1', 1), lost(1)], 2)
  const again = { type: 'record', events: [started('c1', 2)] }
  assert.deepEqual(after('none'), again)
  assert.deepEqual(after('idempotent'), again)
  assert.equal(after('verifiable').type, 'verify-call')
  const once = after('once')
  assert.deepEqual(once.type === 'record' && once.events.map(words), ['c1 unknown'])
})

test('a call that had not started before the death starts', () => {
  assert.deepEqual(recorded([accepted(), answer([call('c1')]), lost(1)], 2), ['start c1'])
})

test('a cancel denies calls that never started and awaits running ones', () => {
  const both = { parallel: true }
  const log = [accepted(), answer([call('c1', both), call('c2', both)]), started('c1'), cancelled()]
  assert.deepEqual(recorded(log), ['c2 denied'])
  assert.equal(next([...log, ended('c2')]).type, 'run-tools')
  assert.deepEqual(recorded([...log, ended('c2'), ended('c1')]), ['end cancelled'])
})

test('a cancelled turn whose worker died records its running tool as unknown, regardless of effects', () => {
  const log = [accepted(), answer([call('c1', { effects: 'none' })]), started('c1', 1), cancelled(), lost(1)]
  assert.deepEqual(recorded(log, 2), ['c1 unknown'])
})

test('a cancel takes precedence over an open approval, the step limit, a fault and an exhausted ladder', () => {
  assert.deepEqual(recorded([accepted(), answer([guarded]), cancelled()]), ['c2 denied'])
  assert.deepEqual(recorded([accepted({ maxSteps: 1 }), answer(), steered, cancelled()]), ['end cancelled'])
  assert.deepEqual(recorded([accepted(), { type: 'fault-met', v: 1, detail: 'x' }, cancelled()]), ['end cancelled'])
  assert.deepEqual(recorded([accepted(), failed('give-up'), cancelled()]), ['end cancelled'])
})

test('only the first cancel counts', () => {
  assert.deepEqual(recorded([accepted(), cancelled('time-limit'), cancelled('person')]), ['end error time_limit'])
  assert.deepEqual(recorded([accepted(), cancelled('person'), cancelled('time-limit')]), ['end cancelled'])
})

test('a cancel after the end changes nothing', () => {
  const over = foldTurn([accepted(), answer(), { type: 'turn-ended', v: 1, stopReason: 'end_turn' }])
  assert.equal(apply(over, cancelled()), over)
})

test('the fold holds the remedies of failed attempts', () => {
  assert.deepEqual(next([accepted(), failed('wait')]), { type: 'call-model', target: 0, notBefore: 77 })
  assert.deepEqual(foldTurn([accepted(), failed('wait')]).attempts.answer.spent, ['wait'])
  assert.deepEqual(next([accepted(), failed('next-target')]), { type: 'call-model', target: 1, notBefore: 77 })
  assert.deepEqual(foldTurn([accepted(), failed('wait'), failed('next-target')]).attempts.answer.spent, [])
  assert.deepEqual(foldTurn([accepted(), failed('wait'), answer()]).attempts.answer.spent, [])
})

test('an exhausted ladder ends the turn with the detail of the failure', () => {
  const action = next([accepted(), failed('give-up')])
  assert.deepEqual(action.type === 'record' && action.events[0], {
    type: 'turn-ended',
    v: 1,
    stopReason: 'llm_api_error',
    error: { errorType: 'llm_rate_limit', message: 'The model is rate limited.', detail: 'slow down' },
  })
})

test('an internal fault ends the turn and leaves no call open', () => {
  const fault: TurnEvent = { type: 'fault-met', v: 1, detail: 'a bug' }
  assert.deepEqual(recorded([accepted(), answer([call('c1')]), started('c1'), fault]), ['c1 unknown'])
  assert.deepEqual(recorded([accepted(), fault]), ['end error internal_error'])
})

const deaths = Array.from({ length: POISON_DEATHS }, (_, index) => lost(index + 1))

test('a run that killed three workers is not retried', () => {
  assert.equal(next([accepted(), ...deaths.slice(1)], 3).type, 'call-model')
  assert.deepEqual(recorded([accepted(), ...deaths], 4), ['end error worker_lost'])
})

test('a step with known outcomes clears the deaths, one with an unknown outcome does not', () => {
  const step = [accepted(), answer([call('c1')]), started('c1', 1), lost(1)]
  assert.equal(foldTurn([...step, ended('c1')]).deaths, 0)
  assert.equal(foldTurn([...step, ended('c1', 'unknown')]).deaths, 1)
})

test('a poisoned run stays poisoned although its open calls are denied', () => {
  const log = [accepted(), answer([call('c1')]), ...deaths]
  assert.deepEqual(recorded(log, 4), ['c1 denied'])
  const denied: TurnEvent = { type: 'tool-ended', v: 1, outcome: { callId: 'c1', status: 'denied', output: '' } }
  assert.deepEqual(recorded([...log, denied], 4), ['end error worker_lost'])
})

test('usage adds up over the answers of a run', () => {
  const step = [answer([call('c1')]), started('c1'), ended('c1')]
  assert.deepEqual(foldTurn([accepted(), ...step, answer()]).usage, { promptTokens: 4, completionTokens: 6 })
})

test('an answered approval ends the turn and names the run that continues', () => {
  const turn: Turn = foldTurn([
    accepted(),
    answer([guarded]),
    { type: 'turn-ended', v: 1, stopReason: 'requires_approval' },
    { type: 'approval-answered', v: 1, decisions: [], responseId: 'message-4', continuedBy: 'run-2' },
  ])
  assert.equal(turn.phase, 'ended')
  assert.equal(turn.continuedBy, 'run-2')
  assert.deepEqual(nextAction(turn, 1), { type: 'park' })
})

test('a log that does not begin with its input is refused', () => {
  assert.throws(() => foldTurn([answer()]), /must begin with input-accepted/)
})
