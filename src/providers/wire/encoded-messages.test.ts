import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MessageBody } from '../../core/message.ts'
import { newEncodedMessages } from './encoded-messages.ts'

const user = (text: string): MessageBody => ({ role: 'user', content: [{ type: 'text', text }] })

function counting() {
  const encoded: string[] = []
  const messages = newEncodedMessages<{ key: string }>(
    (body, form) => {
      const text = body.role === 'approval' ? '' : `${form.key}:${JSON.stringify(body)}`
      encoded.push(text)
      return text
    },
    (form) => form.key,
  )
  return { encoded, messages }
}

test('a message is encoded once per form, not once per request', () => {
  const { encoded, messages } = counting()
  const history = [user('one'), user('two')]
  const first = messages.joined(history, { key: 'a' })
  assert.equal(messages.joined([...history], { key: 'a' }), first)
  assert.equal(messages.one(history[0]!, { key: 'a' }), encoded[0])
  assert.equal(encoded.length, 2)
  assert.notEqual(messages.joined(history, { key: 'b' }), first)
  assert.equal(encoded.length, 4)
})

test('a message without content leaves no comma', () => {
  const { messages } = counting()
  const silent: MessageBody = { role: 'approval', decisions: [] }
  const [one, two] = [user('one'), user('two')]
  assert.equal(
    messages.joined([silent, one, silent, two, silent], { key: 'a' }),
    `${messages.one(one, { key: 'a' })},${messages.one(two, { key: 'a' })}`,
  )
  assert.equal(messages.joined([], { key: 'a' }), '')
})

test('equal messages that are different objects are encoded separately', () => {
  const { encoded, messages } = counting()
  assert.equal(messages.one(user('one'), { key: 'a' }), messages.one(user('one'), { key: 'a' }))
  assert.equal(encoded.length, 2)
})

test('the number of cached forms is bounded', () => {
  const { encoded, messages } = counting()
  const body = user('one')
  for (let index = 0; index < 100; index++) messages.one(body, { key: String(index) })
  messages.one(body, { key: '99' })
  assert.equal(encoded.length, 100)
  messages.one(body, { key: '0' })
  assert.equal(encoded.length, 101)
})
