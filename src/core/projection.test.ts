import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defined } from './defined.ts'
import type { TurnEvent } from './event.ts'
import type { Input } from './message.ts'
import { type Change, project } from './projection.ts'
import type { RunSettings } from './run.ts'
import type { ToolCall } from './tool-call.ts'
import { foldTurn } from './turn.ts'

const settings: RunSettings = {
  targets: ['a/1'],
  maxSteps: 3,
  maxDurationMs: 60_000,
  streamTokens: true,
  onGuarded: 'ask',
  approvalTtlMs: 1_000,
}
const input = (messageId: `message-${string}`): Input => ({
  messageId,
  role: 'user',
  otid: `otid of ${messageId}`,
  content: [{ type: 'text', text: 'hi' }],
})
const accepted: TurnEvent = { type: 'input-accepted', v: 1, inputs: [input('message-in')], settings }
const steered: TurnEvent = { type: 'input-steered', v: 1, inputs: [input('message-also')] }
const call = (callId: string, needsApproval = false): ToolCall => ({
  callId,
  tool: 'thing',
  input: {},
  digest: 'd',
  needsApproval,
  effects: 'once',
  parallel: true,
})
const answer = (calls: ToolCall[] = []): TurnEvent => ({
  type: 'answer-received',
  v: 1,
  stepId: 'step-1',
  answerId: 'message-answer',
  resultsId: 'message-results',
  target: 0,
  content: [{ type: 'text', text: 'well' }],
  calls,
  finish: 'stop',
  inputsRead: 1,
  streamedTo: 0,
  usage: { promptTokens: 2, completionTokens: 3 },
})
const ended = (callId: string): TurnEvent => ({
  type: 'tool-ended',
  v: 1,
  outcome: { callId, status: 'success', output: `done ${callId}` },
})
const end = (stopReason: 'end_turn' | 'cancelled' | 'requires_approval' | 'error'): TurnEvent => ({
  type: 'turn-ended',
  v: 1,
  stopReason,
  ...defined({
    error: stopReason === 'error' ? { errorType: 'internal_error' as const, message: 'a bug' } : undefined,
  }),
})

function changesAfter(log: TurnEvent[], event: TurnEvent, holdsConversation = true): Change[] {
  return project(foldTurn(log), event, { runId: 'run-1', at: 5_000, holdsConversation })
}
const messagesOf = (changes: Change[]) =>
  changes.flatMap((change) => (change.type === 'add-message' ? [change.message] : []))
const idsOf = (changes: Change[]) => messagesOf(changes).map((message) => message.id)
const rowOf = (changes: Change[]) => changes.flatMap((change) => (change.type === 'change-run' ? [change.change] : []))

test('an accepted input becomes a message only with the answer that has read it', () => {
  assert.deepEqual(changesAfter([accepted], steered), [])
  const changes = changesAfter([accepted, steered], answer())
  assert.deepEqual(idsOf(changes), ['message-in', 'message-answer'])
  const { content, otid } = input('message-in')
  assert.deepEqual(messagesOf(changes)[0]?.body, { role: 'user', content, otid })
})

test('an answer becomes a message and a step at once, and the step has the target and the usage', () => {
  const changes = changesAfter([accepted], answer([call('c1')]))
  const step = changes.find((change) => change.type === 'add-step')
  assert.deepEqual(step?.type === 'add-step' && step.step, {
    id: 'step-1',
    runId: 'run-1',
    status: 'success',
    target: 'a/1',
    createdAt: 5_000,
    usage: { promptTokens: 2, completionTokens: 3 },
  })
  const message = messagesOf(changes)[1]
  assert.deepEqual(message?.body, {
    role: 'assistant',
    content: [{ type: 'text', text: 'well' }],
    calls: [call('c1')],
  })
  assert.equal(message?.stepId, 'step-1')
})

test('results become one message in call order when the last call is settled', () => {
  const log = [accepted, answer([call('c1'), call('c2')])]
  assert.deepEqual(changesAfter(log, ended('c2')), [])
  const [message] = messagesOf(changesAfter([...log, ended('c2')], ended('c1')))
  assert.equal(message?.id, 'message-results')
  assert.deepEqual(message?.body.role === 'tool' && message.body.outcomes.map(({ callId }) => callId), ['c1', 'c2'])
})

test('a cut answer keeps its text, is marked as cut and its step as cancelled', () => {
  const cut: TurnEvent = {
    type: 'answer-cut',
    v: 1,
    stepId: 'step-1',
    answerId: 'message-answer',
    target: 0,
    content: [{ type: 'text', text: 'we' }],
    inputsRead: 1,
    streamedTo: 4,
  }
  const changes = changesAfter([accepted], cut)
  assert.deepEqual(idsOf(changes), ['message-in', 'message-answer'])
  assert.deepEqual(messagesOf(changes)[1]?.body, {
    role: 'assistant',
    content: [{ type: 'text', text: 'we' }],
    calls: [],
    cut: true,
  })
  assert.ok(changes.some((change) => change.type === 'add-step' && change.step.status === 'cancelled'))
})

test('a turn that ends well releases its lease and stores the end time and stop reason', () => {
  assert.deepEqual(rowOf(changesAfter([accepted, answer()], end('end_turn'))), [
    {
      status: 'completed',
      waiting: false,
      stopReason: 'end_turn',
      completedAt: 5_000,
      expiresAt: null,
      releaseLease: true,
    },
  ])
})

test('a turn that needs approval waits, holds no lease and has an expiry time', () => {
  const [row] = rowOf(changesAfter([accepted, answer([call('c1', true)])], end('requires_approval')))
  assert.deepEqual(row, {
    status: 'completed',
    waiting: true,
    stopReason: 'requires_approval',
    completedAt: 5_000,
    expiresAt: 6_000,
    releaseLease: true,
  })
})

test('an unread input does not come between open calls and their results', () => {
  const log = [accepted, steered, answer([call('c1', true)])]
  assert.deepEqual(idsOf(changesAfter(log, end('requires_approval'))), [])
})

test('a cancelled run stores its unread input as a message, a failed run does not', () => {
  assert.deepEqual(idsOf(changesAfter([accepted], end('cancelled'))), ['message-in'])
  assert.deepEqual(idsOf(changesAfter([accepted], end('error'))), [])
  assert.equal(rowOf(changesAfter([accepted], end('error')))[0]?.error?.errorType, 'internal_error')
})

test('a run that never started adds no messages, since another run may hold the conversation', () => {
  assert.deepEqual(idsOf(changesAfter([accepted], end('cancelled'), false)), [])
})

const waiting = [accepted, answer([call('c1', true), call('c2')]), end('requires_approval')]

test('an answered approval becomes a message, and the run no longer waits', () => {
  const decisions = [{ callId: 'c1', verdict: 'deny' as const }]
  const event: TurnEvent = {
    type: 'approval-answered',
    v: 1,
    decisions,
    responseId: 'message-response',
    continuedBy: 'run-2',
  }
  const changes = changesAfter(waiting, event)
  assert.deepEqual(messagesOf(changes)[0]?.body, { role: 'approval', decisions })
  assert.deepEqual(rowOf(changes), [{ waiting: false, expiresAt: null }])
})

test('a cancelled approval is answered with denials of the pending calls', () => {
  const cancel: TurnEvent = { type: 'cancel-requested', v: 1, cause: 'expiry', responseId: 'message-response' }
  const [message] = messagesOf(changesAfter(waiting, cancel))
  assert.deepEqual(message?.body, {
    role: 'approval',
    decisions: [{ callId: 'c1', verdict: 'deny', reason: 'the approval expired' }],
  })
  assert.deepEqual(changesAfter([accepted], { type: 'cancel-requested', v: 1, cause: 'person' }), [])
})

test('the deaths on the row are cleared with those of the turn', () => {
  const log: TurnEvent[] = [
    accepted,
    answer([call('c1')]),
    { type: 'worker-lost', v: 1, fence: 1 },
    { type: 'tool-started', v: 1, callId: 'c1', fence: 2 },
  ]
  assert.deepEqual(rowOf(changesAfter(log, ended('c1'))), [{ deaths: 0 }])
})
