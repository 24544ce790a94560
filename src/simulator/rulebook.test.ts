import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseModelRequest } from './parse-request.ts'
import { newRulebook } from './rulebook.ts'
import type { ModelProtocol, When } from './script.ts'

const asked = (body: object, protocol: ModelProtocol = 'openai-chat') =>
  parseModelRequest(protocol, {
    path: '/v1/anything',
    query: new URLSearchParams(),
    headers: { authorization: 'Bearer sk-1', 'anthropic-beta': 'context-1m-2025-08-07' },
    raw: JSON.stringify(body),
    body: body as never,
  })

const matches = (when: When, request: ReturnType<typeof asked>): boolean =>
  newRulebook([{ when, answer: { text: 'matched' } }]).take(request) !== undefined

test('the first rule that matches answers, until it is used up', () => {
  const rules = newRulebook([
    { when: { model: 'b' }, answer: { text: 'b' } },
    { times: 2, answer: { text: 'twice' } },
    { answer: { text: 'then' } },
  ])
  const models = ['a', 'b', 'a', 'a']
  const answers = models.map((model) => rules.take(asked({ model })))
  assert.deepEqual(answers, [{ text: 'twice' }, { text: 'b' }, { text: 'twice' }, { text: 'then' }])
})

test('an attempt counts the requests that meet the rest of its rule, whoever answered them', () => {
  const rules = newRulebook([
    { when: { model: 'a' }, times: 1, answer: { text: 'first' } },
    { when: { model: 'a', attempt: 3 }, answer: { text: 'third' } },
  ])
  const answers = ['a', 'b', 'a', 'a', 'a'].map((model) => rules.take(asked({ model })))
  assert.deepEqual(answers, [{ text: 'first' }, undefined, undefined, { text: 'third' }, undefined])
})

test('what a request carries is seen in every protocol', () => {
  const chatImage = { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:' } }] }] }
  assert.ok(matches({ hasImages: true, hasToolImages: false }, asked(chatImage)))
  const toolImage = {
    messages: [{ role: 'user', content: [{ type: 'tool_result', content: [{ type: 'image', source: {} }] }] }],
  }
  assert.ok(matches({ hasToolImages: true }, asked(toolImage, 'anthropic')))
  const inline = { contents: [{ role: 'user', parts: [{ inlineData: { mimeType: 'image/png', data: '' } }] }] }
  assert.ok(matches({ hasImages: true }, asked(inline, 'gemini')))
  const thinking = { messages: [{ role: 'assistant', content: [{ type: 'thinking', thinking: '', signature: 's' }] }] }
  assert.ok(matches({ hasSignatures: true, hasEncrypted: false }, asked(thinking, 'anthropic')))
  const encrypted = { input: [{ type: 'reasoning', encrypted_content: 'e', summary: [] }] }
  assert.ok(matches({ hasEncrypted: true, hasSignatures: false }, asked(encrypted, 'openai-responses')))
  assert.ok(matches({ hasEncrypted: false, hasSignatures: false, hasImages: false }, asked({ messages: [] })))
})

test('limits are exceeded, not met', () => {
  const request = asked({ max_tokens: 100, messages: [{}, {}] }, 'anthropic')
  assert.ok(matches({ maxTokensAbove: 99, messagesAbove: 1, bytesAbove: 10 }, request))
  assert.ok(!matches({ maxTokensAbove: 100 }, request))
  assert.ok(!matches({ messagesAbove: 2 }, request))
  assert.ok(matches({ maxTokensAbove: 9 }, asked({ generationConfig: { maxOutputTokens: 10 } }, 'gemini')))
  assert.ok(matches({ maxTokensAbove: 9 }, asked({ max_output_tokens: 10 }, 'openai-responses')))
  assert.ok(matches({ maxTokensAbove: 9 }, asked({ max_completion_tokens: 10 })))
})

test('text is found wherever it stands, or only in the last message', () => {
  const messages = [
    { role: 'user', content: 'say "hi"' },
    { role: 'tool', content: 'wet' },
  ]
  const request = asked({ messages, tools: [{ pattern: '^a' }] })
  assert.ok(matches({ contains: 'say "hi"' }, request))
  assert.ok(matches({ contains: '"pattern"' }, request))
  assert.ok(matches({ lastContains: 'wet' }, request))
  assert.ok(!matches({ lastContains: 'hi' }, request))
  assert.ok(matches({ key: 'sk-1', headers: { 'anthropic-beta': 'context-1m' }, hasTools: true }, request))
})

test('a rule that names no protocol leaves the other endpoints alone', () => {
  const rules = newRulebook([{ times: 1, answer: { error: 'server-error' } }])
  const refresh = { protocol: 'oauth' as const, key: undefined, raw: '' }
  assert.equal(rules.take(refresh), undefined)
  const naming = newRulebook([{ when: { protocol: 'oauth' }, answer: { status: 500 } }])
  assert.deepEqual(naming.take(refresh), { status: 500 })
})
