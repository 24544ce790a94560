import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Conversation } from '../agent.ts'
import type { Message, MessageBody } from '../message.ts'
import type { ToolCall } from '../tool-call.ts'
import {
  CONVERSATION_INVARIANTS,
  checkAcrossRuns,
  checkConversation,
  RUN_INVARIANTS,
  STORE_INVARIANTS,
  STREAM_INVARIANTS,
} from './all.ts'
import type { ConversationRecord, RunSummary } from './record.ts'

const call: ToolCall = {
  callId: 'c1',
  tool: 'thing',
  input: {},
  digest: 'd',
  needsApproval: true,
  effects: 'once',
  parallel: false,
}
const asks: MessageBody = { role: 'assistant', content: [], calls: [call] }
const says: MessageBody = { role: 'assistant', content: [{ type: 'text', text: 'well' }], calls: [] }
const hello: MessageBody = { role: 'user', content: [{ type: 'text', text: 'hi' }] }
const results: MessageBody = { role: 'tool', outcomes: [{ callId: 'c1', status: 'success', output: 'done' }] }
const approval: MessageBody = { role: 'approval', decisions: [{ callId: 'c1', verdict: 'approve', digest: 'd' }] }

function conversationOf(bodies: MessageBody[], more: Partial<Conversation> = {}): ConversationRecord {
  const place = { conversationId: 'conv-1', runId: 'run-1', createdAt: 1 } as const
  const messages = bodies.map((body, position): Message => ({ id: `message-${position}`, body, position, ...place }))
  const conversation: Conversation = {
    id: 'conv-1',
    organizationId: 'org-1',
    agentId: 'agent-1',
    isDefault: true,
    createdAt: 1,
    contextStart: 0,
    nextPosition: bodies.length,
    ...more,
  }
  return { conversation, messages }
}

const found = (record: ConversationRecord) => checkConversation(record).map((violation) => violation.invariant)

test('a sound conversation violates no invariant, also while its last calls are open', () => {
  assert.deepEqual(checkConversation(conversationOf([hello, asks, approval, results, says])), [])
  assert.deepEqual(checkConversation(conversationOf([hello, asks])), [])
  assert.deepEqual(checkConversation(conversationOf([])), [])
})

test('I2 reports a message between calls and their results', () => {
  assert.deepEqual(found(conversationOf([hello, asks, hello, results])), ['I2', 'I2'])
})

test('I21 reports a call id that is asked about twice', () => {
  assert.deepEqual(found(conversationOf([hello, asks, approval, results, hello, asks, approval, results])), ['I21'])
})

test('I2 reports results without a call', () => {
  assert.deepEqual(found(conversationOf([hello, results])), ['I2'])
})

test('I6 reports a gap, a repetition and a wrong count', () => {
  const sound = conversationOf([hello, says])
  const moved = sound.messages.map((message) => ({ ...message, position: message.position + 1 }))
  const doubled = sound.messages.map((message) => ({ ...message, id: 'message-0' as const }))
  assert.deepEqual(found({ ...sound, messages: moved }), ['I6'])
  assert.deepEqual(found({ ...sound, messages: doubled }), ['I6'])
  assert.deepEqual(found(conversationOf([hello], { nextPosition: 7 })), ['I6'])
  assert.deepEqual(found(conversationOf([hello], { contextStart: 2 })), ['I6'])
})

const summary = (id: `run-${string}`, more: Partial<RunSummary> = {}): RunSummary => ({
  id,
  conversationId: 'conv-1',
  phase: 'settled',
  inputs: [],
  ...more,
})
const decisions = [{ callId: 'c1', verdict: 'deny' as const }]
const together = (...runs: RunSummary[]) => checkAcrossRuns({ runs }).map((violation) => violation.invariant)

test('I8 reports an input that two runs accepted, but not one passed to the continuing run', () => {
  const first = summary('run-1', { inputs: ['message-1'], answered: { continuedBy: 'run-2', decisions, unread: [] } })
  const second = summary('run-2', { inputs: ['message-1'] })
  assert.ok(together(first, second).includes('I8'))
  assert.deepEqual(together(first, { ...second, inherited: { from: 'run-1', decisions } }), [])
})

test('I10 reports two active runs in one conversation', () => {
  const running = summary('run-1', { phase: 'running' })
  assert.deepEqual(together(running, summary('run-2', { phase: 'waiting' })), ['I10'])
  assert.deepEqual(together(running, summary('run-2', { phase: 'queued' })), [])
  assert.deepEqual(together(running, summary('run-2', { phase: 'running', conversationId: 'conv-2' })), [])
})

test('I21 reports an approval answer that no run continues, that was changed, or that was never given', () => {
  const asked = summary('run-1', { answered: { continuedBy: 'run-2', decisions, unread: [] } })
  const heir = summary('run-2', { inherited: { from: 'run-1', decisions } })
  assert.deepEqual(together(asked, heir), [])
  assert.deepEqual(together(asked), ['I21'])
  assert.deepEqual(together(heir), ['I21'])
  assert.deepEqual(together(asked, { ...heir, inherited: { from: 'run-1', decisions: [] } }), ['I21'])
  const unread = { ...asked, answered: { ...asked.answered!, unread: ['message-1' as const] } }
  assert.deepEqual(together(unread, heir), ['I21'])
  assert.deepEqual(together(unread, { ...heir, inputs: ['message-1'] }), [])
})

test('every invariant says in one sentence what it promises', () => {
  const all = [...RUN_INVARIANTS, ...CONVERSATION_INVARIANTS, ...STREAM_INVARIANTS, ...STORE_INVARIANTS]
  for (const { id, name, sentence } of all) {
    assert.match(id, /^I\d+$/)
    assert.ok(name.length > 0)
    assert.match(sentence, /^[A-Z].*\.$/)
  }
})
