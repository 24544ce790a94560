import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ModelRequest } from '../ports/model.ts'
import { callOptions } from './ai-sdk/call-options.ts'
import { anthropicMessages } from './anthropic/messages.ts'
import { geminiGenerateContent } from './gemini/generate-content.ts'
import { openaiChat } from './openai/chat.ts'
import { openaiResponses } from './openai/responses.ts'
import type { WireDialect } from './wire/dialect.ts'

const request: ModelRequest = {
  ...{ model: 'any', system: '', messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }] },
  tools: [{ name: 'plan', description: 'plans', inputSchema: { type: 'object' } }],
}
const bodyOf = (dialect: WireDialect, change: Partial<ModelRequest>): Record<string, unknown> =>
  JSON.parse(dialect.encode({ ...request, ...change }, { quirks: {} }).body)

const ROWS: { dialect: WireDialect; field: string; forced: unknown }[] = [
  { dialect: openaiChat, field: 'tool_choice', forced: 'required' },
  { dialect: openaiResponses, field: 'tool_choice', forced: 'required' },
  { dialect: anthropicMessages, field: 'tool_choice', forced: { type: 'any' } },
  { dialect: geminiGenerateContent, field: 'toolConfig', forced: { functionCallingConfig: { mode: 'ANY' } } },
]

for (const { dialect, field, forced } of ROWS)
  test(`${dialect.name} is told when one of the tools has to be called, and only then`, () => {
    assert.deepEqual(bodyOf(dialect, { mustCall: true })[field], forced)
    assert.equal(field in bodyOf(dialect, {}), false)
  })

test('a model that thinks is not forced: it would refuse', () => {
  const thinking = bodyOf(anthropicMessages, { model: 'claude-haiku-4-5', effort: 'high', mustCall: true })
  assert.ok(thinking.thinking)
  assert.equal('tool_choice' in thinking, false)
})

test('a model of the SDK is told too', () => {
  assert.deepEqual(callOptions({ ...request, mustCall: true }).toolChoice, { type: 'required' })
  assert.deepEqual(callOptions(request).toolChoice, { type: 'auto' })
})
