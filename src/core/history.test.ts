import assert from 'node:assert/strict'
import { test } from 'node:test'
import { closedLength, historyFaults, toModelHistory } from './history.ts'
import type { MessageBody } from './message.ts'
import type { ToolCall, ToolOutcome } from './tool-call.ts'

const call = (callId: string): ToolCall => ({
  callId,
  tool: 'thing',
  input: {},
  digest: 'd',
  needsApproval: false,
  effects: 'once',
  parallel: false,
})
const done = (callId: string): ToolOutcome => ({ callId, status: 'success', output: 'done' })
const asks = (...ids: string[]): MessageBody => ({ role: 'assistant', content: [], calls: ids.map(call) })
const results = (...ids: string[]): MessageBody => ({ role: 'tool', outcomes: ids.map(done) })
const hello: MessageBody = { role: 'user', content: [{ type: 'text', text: 'hi' }] }
const says: MessageBody = { role: 'assistant', content: [{ type: 'text', text: 'well' }], calls: [] }
const nothing: MessageBody = { role: 'assistant', content: [], calls: [] }
const approval: MessageBody = { role: 'approval', decisions: [] }

const statuses = (body: MessageBody | undefined) =>
  body?.role === 'tool' ? body.outcomes.map(({ callId, status }) => `${callId} ${status}`) : []

test('a valid history is unchanged', () => {
  const sound = [hello, asks('c1', 'c2'), results('c1', 'c2'), says]
  assert.deepEqual(toModelHistory(sound), sound)
  assert.deepEqual(historyFaults(sound), [])
})

test('approvals and empty answers are left out', () => {
  assert.deepEqual(toModelHistory([hello, asks('c1'), approval, results('c1'), nothing, says]), [
    hello,
    asks('c1'),
    results('c1'),
    says,
  ])
})

test('a call without a result gets an unknown outcome', () => {
  for (const rest of [[], [hello], [says], [asks('c2'), results('c2')]]) {
    const shown = toModelHistory([hello, asks('c1'), ...rest])
    assert.deepEqual(statuses(shown[2]), ['c1 unknown'])
    assert.deepEqual(historyFaults(shown), [])
  }
})

test('results are put in call order, completed, and stripped of those without a call', () => {
  const shown = toModelHistory([hello, asks('c1', 'c2', 'c3'), results('c3', 'c9', 'c1')])
  assert.deepEqual(statuses(shown[2]), ['c1 success', 'c2 unknown', 'c3 success'])
})

test('results without a call are left out', () => {
  assert.deepEqual(toModelHistory([hello, results('c1'), says]), [hello, says])
})

test('repairing a history twice changes nothing', () => {
  const broken = [results('c0'), hello, asks('c1', 'c2'), results('c2'), nothing, asks('c3'), approval, hello]
  const once = toModelHistory(broken)
  assert.deepEqual(toModelHistory(once), once)
  assert.deepEqual(historyFaults(once), [])
})

test('faults that a provider would reject are reported', () => {
  assert.equal(historyFaults([hello, asks('c1')]).length, 1)
  assert.equal(historyFaults([hello, asks('c1'), hello]).length, 1)
  assert.equal(historyFaults([hello, results('c1')]).length, 1)
  assert.equal(historyFaults([asks('c1', 'c2'), results('c2', 'c1')]).length, 1)
  assert.equal(historyFaults([hello, nothing]).length, 1)
})

test('the closed part of a history ends before calls without results', () => {
  assert.equal(closedLength([hello, says, hello]), 3)
  assert.equal(closedLength([hello, asks('c1')]), 1)
  assert.equal(closedLength([hello, asks('c1'), approval]), 1)
  assert.equal(closedLength([hello, asks('c1'), approval, results('c1')]), 4)
  assert.equal(closedLength([asks('c1')]), 0)
})
