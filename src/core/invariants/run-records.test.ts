import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defined } from '../defined.ts'
import type { TurnEvent } from '../event.ts'
import type { Message } from '../message.ts'
import { project } from '../projection.ts'
import { type Run, type RunSettings, STATUS_OF_STOP } from '../run.ts'
import type { ToolCall, ToolOutcome } from '../tool-call.ts'
import { apply, newTurn } from '../turn.ts'
import { checkRun } from './all.ts'
import type { RunRecord } from './record.ts'

const settings: RunSettings = {
  targets: ['a/1', 'b/2'],
  maxSteps: 2,
  maxDurationMs: 60_000,
  streamTokens: true,
  onGuarded: 'ask',
  approvalTtlMs: 1_000,
}
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
const accepted = (more: Partial<Extract<TurnEvent, { type: 'input-accepted' }>> = {}): TurnEvent => ({
  type: 'input-accepted',
  v: 1,
  inputs: [{ messageId: 'message-in', role: 'user', content: [{ type: 'text', text: 'hi' }] }],
  settings,
  ...more,
})
const answer = (number: number, calls: ToolCall[] = [], target = 0): TurnEvent => ({
  type: 'answer-received',
  v: 1,
  stepId: `step-${number}`,
  answerId: `message-answer-${number}`,
  resultsId: `message-results-${number}`,
  target,
  content: [{ type: 'text', text: 'well' }],
  calls,
  finish: calls.length > 0 ? 'tool-calls' : 'stop',
  usage: { promptTokens: 1, completionTokens: 1 },
  inputsRead: number === 1 ? 1 : 0,
  streamedTo: 0,
})
const started = (callId: string, fence = 1): TurnEvent => ({ type: 'tool-started', v: 1, callId, fence })
const ended = (callId: string, status: ToolOutcome['status'] = 'success'): TurnEvent => ({
  type: 'tool-ended',
  v: 1,
  outcome: { callId, status, output: 'done' },
})
const cancel: TurnEvent = { type: 'cancel-requested', v: 1, cause: 'person' }
const lost = (fence: number): TurnEvent => ({ type: 'worker-lost', v: 1, fence })
const failed = (target: number, remedy: 'wait' | 'next-target' | 'give-up'): TurnEvent => ({
  type: 'attempt-failed',
  v: 1,
  target,
  failure: { kind: 'timeout', detail: 'slow' },
  remedy,
  retryAt: 0,
})
const end = (stopReason: 'end_turn' | 'cancelled' | 'requires_approval' | 'max_steps' = 'end_turn'): TurnEvent => ({
  type: 'turn-ended',
  v: 1,
  stopReason,
})
const endLost: TurnEvent = {
  type: 'turn-ended',
  v: 1,
  stopReason: 'error',
  error: { errorType: 'worker_lost', message: 'it died' },
}
const answered = (callId: string): TurnEvent => ({
  type: 'approval-answered',
  v: 1,
  decisions: [{ callId, verdict: 'approve', digest: `digest of ${callId}` }],
  responseId: 'message-response',
  continuedBy: 'run-2',
})

/** A record whose row and messages follow from its log, so that only the fault a test adds is wrong. */
function recordOf(log: TurnEvent[], row: Partial<Run> = {}): RunRecord {
  const events = log.map((event, index) => ({ seq: index + 1, at: 1_000 + index, event }))
  const first = log[0] as Extract<TurnEvent, { type: 'input-accepted' }>
  const messages: Message[] = []
  const fence = row.fence ?? 1
  let turn = newTurn(first)
  for (const { at, event } of events.slice(1)) {
    for (const change of project(turn, event, { runId: 'run-1', at, holdsConversation: fence > 0 }))
      if (change.type === 'add-message')
        messages.push({ ...change.message, conversationId: 'conv-1', position: messages.length })
    turn = apply(turn, event)
  }
  const completedAt = events.findLast(({ event }) => event.type === 'turn-ended')?.at
  const run: Run = {
    id: 'run-1',
    organizationId: 'org-1',
    agentId: 'agent-1',
    conversationId: 'conv-1',
    background: false,
    metadata: {},
    createdAt: 1,
    chunkBound: 0,
    fence,
    nextSeq: events.length + 1,
    status: turn.ended ? STATUS_OF_STOP[turn.ended.stopReason] : 'running',
    waiting: turn.phase === 'waiting',
    deaths: turn.deaths,
    ...turn.ended,
    ...defined({
      completedAt,
      expiresAt: turn.phase === 'waiting' ? completedAt! + turn.settings.approvalTtlMs : undefined,
    }),
    ...row,
  }
  return { run, events, messages }
}

const found = (record: RunRecord): string[] => [...new Set(checkRun(record).map((violation) => violation.invariant))]

const oneStep = [accepted(), answer(1, [call('c1')]), started('c1'), ended('c1'), answer(2), end()]
const guarded = call('c1', { needsApproval: true })

test('a sound run violates no invariant: plain, with tools, waiting, answered, continued, cancelled, poisoned', () => {
  const calls = [guarded, call('c2')]
  const continues = { runId: 'run-0', stepId: 'step-0', answerId: 'message-a', resultsId: 'message-r' } as const
  const decisions = [{ callId: 'c1', verdict: 'approve' as const, digest: 'digest of c1' }]
  const waiting = [accepted(), answer(1, calls), end('requires_approval')]
  const soundLogs = [
    [accepted(), answer(1), end()],
    oneStep,
    waiting,
    [...waiting, answered('c1')],
    [
      ...waiting,
      { ...cancel, responseId: 'message-response' },
      ended('c1', 'denied'),
      ended('c2', 'denied'),
      end('cancelled'),
    ],
    [
      accepted({ inputs: [], continues: { ...continues, calls, decisions } }),
      started('c1'),
      ended('c1'),
      started('c2'),
    ],
    [accepted(), answer(1, [call('c1')]), started('c1'), cancel, ended('c1', 'unknown'), end('cancelled')],
    [accepted(), failed(0, 'wait'), failed(0, 'next-target'), answer(1, [], 1), end()],
  ] as TurnEvent[][]
  for (const log of soundLogs) assert.deepEqual(checkRun(recordOf(log)), [])
  assert.deepEqual(checkRun(recordOf([accepted(), lost(1), lost(2), lost(3), endLost], { fence: 4 })), [])
  assert.deepEqual(checkRun(recordOf([accepted()], { fence: 0, status: 'created' })), [])
})

type BadRecord = { invariant: string; flaw: string; record: RunRecord }

const bad = (invariant: string, flaw: string, log: TurnEvent[], row: Partial<Run> = {}): BadRecord => ({
  invariant,
  flaw,
  record: recordOf(log, row),
})

function withMessages(invariant: string, flaw: string, change: (messages: Message[]) => Message[]): BadRecord {
  const record = recordOf(oneStep)
  return { invariant, flaw, record: { ...record, messages: change(record.messages) } }
}

const twice = call('c1', { effects: 'idempotent' })
const deaths = [lost(1), lost(2), lost(3)]
const dead: Partial<Run> = { fence: 4 }

const BAD_RECORDS: BadRecord[] = [
  withMessages('I1', 'a settled run has a call without a result', (all) =>
    all.filter((one) => one.body.role !== 'tool'),
  ),
  withMessages('I1', 'a result belongs to no call', (all) =>
    all.map((one) => (one.body.role === 'tool' ? { ...one, stepId: 'step-9' } : one)),
  ),
  withMessages('I1', 'results are in another order', (all) =>
    all.map((one) => (one.body.role === 'tool' ? { ...one, body: { role: 'tool', outcomes: [] } } : one)),
  ),
  bad('I3', 'a tool started without a call', [accepted(), answer(1, [call('c1')]), started('c9')]),
  bad('I3', 'a tool started before its answer', [accepted(), started('c1'), answer(1, [call('c1')])]),
  bad('I3', 'a tool ended twice', [accepted(), answer(1, [call('c1')]), started('c1'), ended('c1'), ended('c1')]),
  bad('I4', 'the second call started before the first ended', [
    accepted(),
    answer(1, [call('c1'), call('c2')]),
    started('c1'),
    started('c2'),
  ]),
  bad('I4', 'the next answer came while a call was open', [
    accepted(),
    answer(1, [call('c1')]),
    started('c1'),
    answer(2),
  ]),
  bad('I5', 'the row has another stop reason', oneStep, { stopReason: 'max_steps' }),
  bad('I5', 'the row has forgotten a death', [accepted(), lost(1)], { fence: 2, deaths: 0 }),
  bad('I5', 'the row says it completed at another time', oneStep, { completedAt: 5 }),
  withMessages('I5', 'a message was changed', (all) =>
    all.map((one, index) => (index === 0 ? { ...one, body: { role: 'user', content: [] } } : one)),
  ),
  withMessages('I5', 'a message is missing', (all) => all.slice(0, -1)),
  withMessages('I5', 'a message has no event in the log', (all) => [
    ...all,
    { ...all[0]!, id: 'message-more', position: 9 },
  ]),
  bad('I6', 'next_seq of the row is wrong', oneStep, { nextSeq: 99 }),
  { invariant: 'I6', flaw: 'an event is missing', record: withGap(recordOf(oneStep)) },
  withMessages('I6', 'a message is in another conversation', (all) =>
    all.map((one) => ({ ...one, conversationId: 'conv-9' })),
  ),
  withMessages('I6', 'two messages share a position', (all) => all.map((one) => ({ ...one, position: 0 }))),
  bad(
    'I11',
    'a stale worker started a tool',
    [
      accepted(),
      answer(1, [call('c1', { parallel: true }), call('c2', { parallel: true })]),
      started('c1', 2),
      started('c2', 1),
    ],
    { fence: 2 },
  ),
  bad('I11', 'a dead worker started a tool', [accepted(), lost(1), answer(1, [call('c1')]), started('c1', 1)], {
    fence: 2,
  }),
  bad('I11', "a fence is above the run's", [accepted(), answer(1, [call('c1')]), started('c1', 7)]),
  bad('I12', 'an event followed the end', [...oneStep, { type: 'input-steered', v: 1, inputs: [] }]),
  bad('I12', 'a waiting run continued without an answer', [
    accepted(),
    answer(1, [guarded]),
    end('requires_approval'),
    { type: 'input-steered', v: 1, inputs: [] },
  ]),
  bad('I12', 'an approval was answered that was not pending', [accepted(), answer(1, [guarded]), answered('c1')]),
  bad('I12', 'a failed run has no error', [accepted(), { type: 'turn-ended', v: 1, stopReason: 'llm_api_error' }]),
  bad('I12', 'a run completed that no worker claimed', [accepted(), answer(1), end()], { fence: 0 }),
  {
    invariant: 'I13',
    flaw: 'no live worker holds a running run',
    record: { ...recordOf([accepted()], { leaseOwner: 'worker-1' }), liveWorkers: new Set(['worker-2']) },
  },
  bad('I14', 'a poisoned run continued', [accepted(), ...deaths, answer(1), end()], dead),
  bad('I14', 'a poisoned run ended without worker_lost', [accepted(), ...deaths, end('max_steps')], dead),
  bad('I14', 'a run ended with worker_lost too early', [accepted(), lost(1), endLost], { fence: 2 }),
  bad('I16', 'a target answered that the turn was not at', [accepted(), answer(1, [], 1), end()]),
  bad('I16', 'a turn moved past the end of its chain', [
    accepted(),
    failed(0, 'next-target'),
    failed(1, 'next-target'),
  ]),
  bad('I16', 'a remedy was used more often than its ladder allows', [accepted(), ...Array(6).fill(failed(0, 'wait'))]),
  bad('I17', 'a run went over its limit of steps', [
    accepted({ settings: { ...settings, maxSteps: 1 } }),
    ...oneStep.slice(1),
  ]),
  bad('I18', 'a tool started after the cancel', [accepted(), answer(1, [call('c1')]), cancel, started('c1')]),
  bad('I18', 'the model was called again after the cancel', [accepted(), cancel, failed(0, 'wait'), answer(1)]),
  bad('I19', 'a call that started is recorded as denied', [
    accepted(),
    answer(1, [call('c1')]),
    started('c1'),
    ended('c1', 'denied'),
  ]),
  bad('I19', 'a call that never started is recorded as unknown', [
    accepted(),
    answer(1, [call('c1')]),
    ended('c1', 'unknown'),
  ]),
  bad('I19', 'a call that never started has a result', [accepted(), answer(1, [call('c1')]), ended('c1')]),
  bad('I19', 'the run ended and a call is open', [accepted(), answer(1, [call('c1')]), started('c1'), end()]),
  bad('I20', 'a cancelled run ended with another stop reason', [accepted(), cancel, answer(1), end()]),
  bad('I21', 'a guarded call started without approval', [accepted(), answer(1, [guarded]), started('c1')]),
  bad('I21', 'a call started while another call of its answer waited for approval', [
    accepted(),
    answer(1, [call('c0'), guarded]),
    started('c0'),
  ]),
  bad('I21', 'a call started on the approval of other arguments', [
    accepted({
      continues: {
        runId: 'run-0',
        stepId: 'step-0',
        answerId: 'message-a',
        resultsId: 'message-r',
        calls: [guarded],
        decisions: [{ callId: 'c1', verdict: 'approve', digest: 'another digest' }],
      },
    }),
    started('c1'),
  ]),
  bad('I21', 'a refused call started', [
    accepted(),
    answer(1, [call('c1', { refusal: 'no such tool' })]),
    started('c1'),
  ]),
  bad('I21', 'the answer is for another call', [
    accepted(),
    answer(1, [guarded]),
    end('requires_approval'),
    answered('c9'),
  ]),
  bad('I21', 'an approval was answered twice', [
    accepted(),
    answer(1, [guarded]),
    end('requires_approval'),
    answered('c1'),
    answered('c1'),
  ]),
  { invariant: 'I22', flaw: 'an approval never lapses', record: withoutExpiry() },
  bad('I22', 'an unattended run waits', [
    accepted({ settings: { ...settings, onGuarded: 'deny' } }),
    answer(1, [guarded]),
    end('requires_approval'),
  ]),
  bad(
    'I28',
    'a call that may run once started twice',
    [accepted(), answer(1, [call('c1')]), started('c1', 1), lost(1), started('c1', 2)],
    { fence: 2 },
  ),
  bad('I28', 'one worker started a call twice', [accepted(), answer(1, [twice]), started('c1'), started('c1')]),
]

for (const { invariant, flaw, record } of BAD_RECORDS)
  test(`${invariant} reports that ${flaw}`, () => {
    assert.ok(found(record).includes(invariant), `it saw only [${found(record)}]`)
  })

test('a log that cannot be read is one violation and does not stop the check', () => {
  const record = recordOf(oneStep)
  const broken = { type: 'from-the-future' } as unknown as TurnEvent
  assert.deepEqual(found({ ...record, events: [] }), ['I5'])
  assert.deepEqual(found({ ...record, events: [record.events[0]!, { seq: 2, at: 1, event: broken }] }), ['I5'])
})

test('a second start of a call that may run again is not a violation', () => {
  const log = [accepted(), answer(1, [twice]), started('c1', 1), lost(1), started('c1', 2), ended('c1')]
  assert.deepEqual(checkRun(recordOf(log, { fence: 2 })), [])
})

function withGap(record: RunRecord): RunRecord {
  return { ...record, events: record.events.map((logged) => ({ ...logged, seq: logged.seq + 1 })) }
}

function withoutExpiry(): RunRecord {
  const record = recordOf([accepted(), answer(1, [guarded]), end('requires_approval')])
  const { expiresAt: _, ...run } = record.run
  return { ...record, run }
}
