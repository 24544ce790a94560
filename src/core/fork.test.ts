import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PositionedMessage } from './compaction.ts'
import { forkPoint } from './fork.ts'
import type { MessageBody } from './message.ts'
import type { ToolCall } from './tool-call.ts'

const call: ToolCall = {
  callId: 'c',
  tool: 'look',
  input: {},
  digest: '',
  needsApproval: true,
  effects: 'none',
  parallel: false,
}
const BODIES = {
  user: { role: 'user', content: [{ type: 'text', text: 'hi' }] },
  answer: { role: 'assistant', content: [{ type: 'text', text: 'yes' }], calls: [] },
  asks: { role: 'assistant', content: [], calls: [call] },
  word: { role: 'approval', decisions: [] },
  results: { role: 'tool', outcomes: [{ callId: 'c', status: 'success', output: 'seen' }] },
} satisfies Record<string, MessageBody>
const summary = (from: number, to: number): MessageBody => ({ role: 'summary', text: 'so far', replaces: { from, to } })

const view = (start: number, ...bodies: (keyof typeof BODIES | MessageBody)[]): PositionedMessage[] =>
  bodies.map((body, index) => ({ position: start + index, body: typeof body === 'string' ? BODIES[body] : body }))

test('a fork copies every message, and none of an empty conversation', () => {
  assert.deepEqual(forkPoint(view(0, 'user', 'answer'), 0), { end: 2, contextStart: 0 })
  assert.deepEqual(forkPoint([], 0), { end: 0, contextStart: 0 })
  assert.deepEqual(forkPoint([], 7), { end: 7, contextStart: 7 })
})

test('a call is copied with its results or not at all', () => {
  const whole = view(0, 'user', 'asks', 'word', 'results', 'answer')
  assert.equal(forkPoint(whole, 0, 1).end, 4)
  assert.equal(forkPoint(whole, 0, 2).end, 4)
  assert.equal(forkPoint(whole, 0, 3).end, 4)
  assert.equal(forkPoint(whole, 0, 0).end, 1)
  for (const open of [view(0, 'user', 'asks'), view(0, 'user', 'asks', 'word')]) {
    assert.equal(forkPoint(open, 0).end, 1)
    assert.equal(forkPoint(open, 0, 1).end, 1)
  }
})

test('a fork that ends before a summary has the messages that the summary replaced in its context', () => {
  const compacted = view(4, 'user', 'answer', summary(0, 3), 'user', 'answer')
  assert.deepEqual(forkPoint(compacted, 4), { end: 9, contextStart: 4 })
  assert.deepEqual(forkPoint(compacted, 4, 7), { end: 8, contextStart: 4 })
  assert.deepEqual(forkPoint(compacted, 4, 5), { end: 6, contextStart: 0 })
  // Messages before the previous context start stay out of the context.
  const reset = view(14, 'user', summary(10, 13), 'user')
  assert.deepEqual(forkPoint(reset, 14, 14), { end: 15, contextStart: 10 })
  const twice = view(8, summary(0, 5), 'user', summary(0, 7), 'answer')
  assert.deepEqual(forkPoint(twice, 8, 9), { end: 10, contextStart: 6 })
})
