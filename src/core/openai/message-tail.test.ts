import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Exchange, findTail } from './message-tail.ts'
import type { SentMessage } from './sent-message.ts'

const user = (text: string, at: number): SentMessage => ({ role: 'user', at, content: [{ type: 'text', text }] })
const assistant = (text: string, at: number): SentMessage => ({ role: 'assistant', at, text, calls: [] })

function talk(...texts: string[]): SentMessage[] {
  return texts.map((text, at) => (at % 2 === 0 ? user(text, at) : assistant(text, at)))
}

function kept(...texts: string[]): Exchange[] {
  const exchanges: Exchange[] = []
  for (let at = 0; at < texts.length; at += 2)
    exchanges.push({ said: texts[at]!, answers: [{ text: texts[at + 1]!, isCut: false }], end: at + 1 })
  return exchanges
}

test('only what comes after the last exchange that is kept is new', () => {
  const tail = findTail(talk('a', 'b', 'c', 'd', 'e'), kept('a', 'b', 'c', 'd'))
  assert.deepEqual(tail, { type: 'tail', messages: [user('e', 4)] })
})

test('everything is new in a conversation that keeps nothing, and without an answer in the history', () => {
  assert.equal((findTail(talk('a', 'b', 'c'), []) as { messages: unknown[] }).messages.length, 3)
  assert.deepEqual(findTail(talk('x'), kept('a', 'b')), { type: 'tail', messages: [user('x', 0)] })
})

test('a history that goes on from an earlier exchange is a branch', () => {
  assert.deepEqual(findTail(talk('a', 'b', 'other'), kept('a', 'b', 'c', 'd')), {
    type: 'branch',
    messages: [user('other', 2)],
    end: 1,
  })
})

test('an answer that the front end shows in another form is taken as the kept one, and named', () => {
  assert.deepEqual(findTail(talk('a', 'edited', 'c'), kept('a', 'b')), {
    type: 'tail',
    messages: [user('c', 2)],
    changed: 1,
  })
  const folded = talk('a', '<details type="reasoning" done="true"><summary>x</summary>hm</details>\n b', 'c')
  assert.deepEqual(findTail(folded, kept('a', 'b')), { type: 'tail', messages: [user('c', 2)] })
})

test('a history that the conversation never had is a mismatch, with the place', () => {
  assert.deepEqual(findTail(talk('x', 'y', 'z'), kept('a', 'b')), { type: 'mismatch', at: 1 })
})

test('a short history of the end of the conversation is recognized, as front ends cut long ones', () => {
  const tail = findTail(talk('c', 'd', 'e'), kept('a', 'b', 'c', 'd'))
  assert.deepEqual(tail, { type: 'tail', messages: [user('e', 2)] })
})

test('a cut answer matches as far as it was read', () => {
  const exchanges: Exchange[] = [{ said: 'a', answers: [{ text: 'one two three', isCut: true }], end: 1 }]
  assert.deepEqual(findTail(talk('a', 'one two', 'c'), exchanges), { type: 'tail', messages: [user('c', 2)] })
})
