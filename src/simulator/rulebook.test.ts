import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseModelRequest } from './parse-request.ts'
import { newRulebook } from './rulebook.ts'
import type { ModelProtocol, When } from './script.ts'

const requestOf = (body: object, protocol: ModelProtocol = 'openai-chat') =>
  parseModelRequest(protocol, {
    path: '/v1/anything',
    query: new URLSearchParams(),
    headers: { authorization: 'Bearer sk-1', 'anthropic-beta': 'context-1m-2025-08-07' },
    raw: JSON.stringify(body),
    body: body as never,
  })

const matches = (when: When, request: ReturnType<typeof requestOf>): boolean =>
  newRulebook([{ when, answer: { text: 'matched' } }]).take(request) !== undefined

test('the first matching rule answers until its times are used up', () => {
  const rules = newRulebook([
    { when: { model: 'b' }, answer: { text: 'b' } },
    { times: 2, answer: { text: 'twice' } },
    { answer: { text: 'then' } },
  ])
  const models = ['a', 'b', 'a', 'a']
  const answers = models.map((model) => rules.take(requestOf({ model })))
  assert.deepEqual(answers, [{ text: 'twice' }, { text: 'b' }, { text: 'twice' }, { text: 'then' }])
})

test('an attempt counts the requests that match the rest of its rule, whichever rule answered', () => {
  const rules = newRulebook([
    { when: { model: 'a' }, times: 1, answer: { text: 'first' } },
    { when: { model: 'a', attempt: 3 }, answer: { text: 'third' } },
  ])
  const answers = ['a', 'b', 'a', 'a', 'a'].map((model) => rules.take(requestOf({ model })))
  assert.deepEqual(answers, [{ text: 'first' }, undefined, undefined, { text: 'third' }, undefined])
})

test('images, signatures and encrypted content are detected in every protocol', () => {
  const chatImage = { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:' } }] }] }
  assert.ok(matches({ hasImages: true, hasToolImages: false }, requestOf(chatImage)))
  const toolImage = {
    messages: [{ role: 'user', content: [{ type: 'tool_result', content: [{ type: 'image', source: {} }] }] }],
  }
  assert.ok(matches({ hasToolImages: true }, requestOf(toolImage, 'anthropic')))
  const inline = { contents: [{ role: 'user', parts: [{ inlineData: { mimeType: 'image/png', data: '' } }] }] }
  assert.ok(matches({ hasImages: true }, requestOf(inline, 'gemini')))
  const thinking = { messages: [{ role: 'assistant', content: [{ type: 'thinking', thinking: '', signature: 's' }] }] }
  assert.ok(matches({ hasSignatures: true, hasEncrypted: false }, requestOf(thinking, 'anthropic')))
  const encrypted = { input: [{ type: 'reasoning', encrypted_content: 'e', summary: [] }] }
  assert.ok(matches({ hasEncrypted: true, hasSignatures: false }, requestOf(encrypted, 'openai-responses')))
  assert.ok(matches({ hasEncrypted: false, hasSignatures: false, hasImages: false }, requestOf({ messages: [] })))
})

test('a limit condition matches only above the limit', () => {
  const request = requestOf({ max_tokens: 100, messages: [{}, {}] }, 'anthropic')
  assert.ok(matches({ maxTokensAbove: 99, messagesAbove: 1, bytesAbove: 10 }, request))
  assert.ok(!matches({ maxTokensAbove: 100 }, request))
  assert.ok(!matches({ messagesAbove: 2 }, request))
  assert.ok(matches({ maxTokensAbove: 9 }, requestOf({ generationConfig: { maxOutputTokens: 10 } }, 'gemini')))
  assert.ok(matches({ maxTokensAbove: 9 }, requestOf({ max_output_tokens: 10 }, 'openai-responses')))
  assert.ok(matches({ maxTokensAbove: 9 }, requestOf({ max_completion_tokens: 10 })))
})

test('contains searches the whole body, lastContains only the last message', () => {
  const messages = [
    { role: 'user', content: 'say "hi"' },
    { role: 'tool', content: 'wet' },
  ]
  const request = requestOf({ messages, tools: [{ pattern: '^a' }] })
  assert.ok(matches({ contains: 'say "hi"' }, request))
  assert.ok(matches({ contains: '"pattern"' }, request))
  assert.ok(matches({ lastContains: 'wet' }, request))
  assert.ok(!matches({ lastContains: 'hi' }, request))
  assert.ok(matches({ key: 'sk-1', headers: { 'anthropic-beta': 'context-1m' }, hasTools: true }, request))
})

test('a rule without a protocol matches no other endpoints', () => {
  const rules = newRulebook([{ times: 1, answer: { error: 'server-error' } }])
  const refresh = { protocol: 'oauth' as const, key: undefined, raw: '' }
  assert.equal(rules.take(refresh), undefined)
  const naming = newRulebook([{ when: { protocol: 'oauth' }, answer: { status: 500 } }])
  assert.deepEqual(naming.take(refresh), { status: 500 })
})
