import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hasPrefix, NOTHING_STREAMED, renderEvent } from './chunk.ts'
import type { TurnEvent } from './event.ts'
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
const accepted = (more: Partial<RunSettings> = {}): TurnEvent => ({
  type: 'input-accepted',
  v: 1,
  inputs: [],
  settings: { ...settings, ...more },
})
const call = (callId: string, needsApproval = false): ToolCall => ({
  callId,
  tool: 'thing',
  input: { a: 1 },
  digest: 'd',
  needsApproval,
  effects: 'once',
  parallel: true,
})
const answer = (calls: ToolCall[] = []): TurnEvent => ({
  type: 'answer-received',
  v: 1,
  stepId: 'step-1',
  answerId: 'message-1',
  resultsId: 'message-2',
  target: 0,
  content: [
    { type: 'reasoning', text: 'hm' },
    { type: 'text', text: 'Hello' },
  ],
  calls,
  finish: 'stop',
  usage: { promptTokens: 2, completionTokens: 3 },
  inputsRead: 0,
  streamedTo: 2,
})
const render = (log: TurnEvent[], event: TurnEvent, wasStreamed = true) =>
  renderEvent(foldTurn(log), event, wasStreamed ? 'all' : NOTHING_STREAMED)
const typesOf = (chunks: ReturnType<typeof render>) => chunks.map((chunk) => chunk.message_type)

test('text that was streamed as deltas is not sent again; other text is sent whole', () => {
  assert.deepEqual(render([accepted()], answer()), [])
  assert.deepEqual(render([accepted()], answer(), false), [
    { message_type: 'reasoning_message', id: 'message-1', reasoning: 'hm' },
    { message_type: 'assistant_message', id: 'message-1', content: 'Hello' },
  ])
})

test('text that was never continued is reset at the end; text that became an answer is not', () => {
  const kept = { answerId: 'message-1' as const, content: [{ type: 'text' as const, text: 'Hel' }], streamedTo: 2 }
  const cut: TurnEvent = {
    type: 'attempt-failed',
    v: 1,
    target: 0,
    failure: { kind: 'text-truncated', detail: '' },
    remedy: 'continue',
    retryAt: 0,
    kept,
  }
  const rest = {
    stepId: 'step-1' as const,
    answerId: kept.answerId,
    target: 0,
    content: [],
    inputsRead: 0,
    streamedTo: 0,
  }
  const stopped: TurnEvent = { type: 'answer-cut', v: 1, ...rest, isRest: true }
  const cancelled: TurnEvent = { type: 'turn-ended', v: 1, stopReason: 'cancelled' }
  assert.deepEqual(typesOf(render([accepted(), cut], cancelled)), ['message_reset', 'stop_reason', 'done'])
  assert.deepEqual(typesOf(render([accepted(), cut, stopped], cancelled)), ['stop_reason', 'done'])
})

test('calls that run and calls that need approval have different chunks', () => {
  const wire = (id: string) => [{ tool_call_id: id, name: 'thing', arguments: '{"a":1}' }]
  assert.deepEqual(render([accepted()], answer([call('c1', true), call('c2')])), [
    { message_type: 'tool_call_message', id: 'message-1', tool_calls: wire('c2') },
    { message_type: 'approval_request_message', id: 'message-1', tool_calls: wire('c1') },
  ])
})

test('an unattended run sends no approval request', () => {
  const chunks = render([accepted({ onGuarded: 'deny' })], answer([call('c1', true)]))
  assert.deepEqual(typesOf(chunks), ['tool_call_message'])
})

test('a result has the id of its results message, and every status but success is an error on the wire', () => {
  const resultOf = (status: 'success' | 'error' | 'denied' | 'unknown') =>
    render([accepted(), answer([call('c1')])], {
      type: 'tool-ended',
      v: 1,
      outcome: { callId: 'c1', status, output: 'done' },
    })
  const result = (status: 'success' | 'error') => [
    {
      message_type: 'tool_return_message',
      id: 'message-2',
      name: 'thing',
      tool_return: { tool_call_id: 'c1', status, tool_return: 'done' },
    },
  ]
  assert.deepEqual(resultOf('success'), result('success'))
  for (const status of ['error', 'denied', 'unknown'] as const) assert.deepEqual(resultOf(status), result('error'))
})

test('a failed attempt is streamed with its target, failure and remedy', () => {
  const failure = { kind: 'timeout', detail: 'slow' } as const
  assert.deepEqual(
    render([accepted()], { type: 'attempt-failed', v: 1, target: 0, failure, remedy: 'wait', retryAt: 0 }),
    [{ message_type: 'attempt_failed', target: 'a/1', kind: 'timeout', detail: 'slow', remedy: 'wait' }],
  )
})

test('a stream ends once: with usage after success, with the error after a failure, with neither after a cancel', () => {
  const ending = (event: Omit<Extract<TurnEvent, { type: 'turn-ended' }>, 'type' | 'v'>) =>
    render([accepted(), answer()], { type: 'turn-ended', v: 1, ...event })
  assert.deepEqual(ending({ stopReason: 'end_turn' }), [
    { message_type: 'stop_reason', stop_reason: 'end_turn' },
    {
      message_type: 'usage_statistics',
      prompt_tokens: 2,
      completion_tokens: 3,
      total_tokens: 5,
      step_count: 1,
    },
    { message_type: 'done' },
  ])
  const error = { errorType: 'internal_error', message: 'a bug' } as const
  assert.deepEqual(ending({ stopReason: 'error', error }), [
    { message_type: 'stop_reason', stop_reason: 'error' },
    { message_type: 'error_message', error_type: 'internal_error', message: 'a bug', detail: null },
    { message_type: 'done' },
  ])
  assert.deepEqual(typesOf(ending({ stopReason: 'cancelled' })), ['stop_reason', 'done'])
})

test('the stream of a waiting run has ended: later events are not streamed in it', () => {
  const waiting: TurnEvent[] = [
    accepted(),
    answer([call('c1', true)]),
    { type: 'turn-ended', v: 1, stopReason: 'requires_approval' },
  ]
  assert.deepEqual(render(waiting, { type: 'turn-ended', v: 1, stopReason: 'cancelled' }), [])
})

test('of arguments that a dead writer began to stream only the rest is sent, then the whole call', () => {
  const event = { ...answer([call('c1'), call('c2')]), content: [] } as TurnEvent
  const streamed = { text: '', reasoning: '', calls: new Map([['c1', '{"a"']]) }
  const chunks = renderEvent(foldTurn([accepted()]), event, streamed)
  assert.deepEqual(chunks[0], {
    message_type: 'tool_call_delta',
    id: 'message-1',
    tool_call_id: 'c1',
    arguments: ':1}',
  })
  assert.deepEqual(typesOf(chunks), ['tool_call_delta', 'tool_call_message'])
  assert.ok(event.type === 'answer-received' && hasPrefix(event, streamed))
  assert.ok(!hasPrefix(event, { ...streamed, calls: new Map([['c1', '{"b"']]) }))
  assert.ok(!hasPrefix(event, { ...streamed, calls: new Map([['c3', '{"a"']]) }))
})
