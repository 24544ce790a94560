import assert from 'node:assert/strict'
import { test } from 'node:test'
import { resolveVerdicts, undecidedCalls } from './approval.ts'
import type { ToolCall } from './tool-call.ts'
import { foldTurn } from './turn.ts'

const call = (callId: string, more: Partial<ToolCall> = {}): ToolCall => ({
  callId,
  tool: 'thing',
  input: {},
  digest: `digest of ${callId}`,
  needsApproval: true,
  effects: 'once',
  parallel: false,
  ...more,
})
const asked = [call('c1'), call('c2')]

test('an approval is bound to the pending call and its arguments', () => {
  const verdicts = [
    { callId: 'c2', verdict: 'deny' as const, reason: 'no' },
    { callId: 'c1', verdict: 'approve' as const },
  ]
  assert.deepEqual(resolveVerdicts(asked, verdicts), {
    decisions: [
      { callId: 'c1', verdict: 'approve', digest: 'digest of c1' },
      { callId: 'c2', verdict: 'deny', reason: 'no' },
    ],
  })
})

test('an approval of other arguments is refused', () => {
  const decided = resolveVerdicts([call('c1')], [{ callId: 'c1', verdict: 'approve', digest: 'another' }])
  assert.match('refusal' in decided ? decided.refusal : '', /arguments of c1/)
})

test('too few verdicts, too many, a repeated one and one for another call are each refused, and no call is decided', () => {
  const deny = (callId: string) => ({ callId, verdict: 'deny' as const })
  for (const ids of [['c1'], ['c1', 'c2', 'c3'], ['c1', 'c1'], ['c1', 'c9'], ['c1', 'c2', 'c2'], []])
    assert.ok('refusal' in resolveVerdicts(asked, ids.map(deny)), `[${ids}] was taken`)
})

test('a refusal names the expected and the received calls', () => {
  const decided = resolveVerdicts(asked, [{ callId: 'c9', verdict: 'deny' }])
  assert.match('refusal' in decided ? decided.refusal : '', /Expected 'c1, c2', but received 'c9'/)
})

test('only calls of a waiting turn that need approval are undecided', () => {
  const settings = {
    targets: ['a/1' as const],
    maxSteps: 3,
    maxDurationMs: 1,
    streamTokens: true,
    onGuarded: 'ask' as const,
    approvalTtlMs: 1,
  }
  const calls = [call('c1'), call('c2', { needsApproval: false }), call('c3', { refusal: 'no such tool' })]
  const going = foldTurn([
    { type: 'input-accepted', v: 1, inputs: [], settings },
    {
      type: 'answer-received',
      v: 1,
      stepId: 'step-1',
      answerId: 'message-1',
      resultsId: 'message-2',
      target: 0,
      content: [],
      calls,
      finish: 'tool-calls',
      usage: { promptTokens: 0, completionTokens: 0 },
      inputsRead: 0,
      streamedTo: 0,
    },
  ])
  assert.deepEqual(undecidedCalls(going), [])
  assert.deepEqual(
    undecidedCalls({ ...going, phase: 'waiting' }).map(({ callId }) => callId),
    ['c1'],
  )
})
