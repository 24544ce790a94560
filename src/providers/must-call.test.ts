import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { DIALECTS } from '../core/message.ts'
import type { ModelRequest } from '../ports/model.ts'
import { callOptions } from './ai-sdk/call-options.ts'
import { anthropicMessages } from './anthropic/messages.ts'
import { WIRE_DIALECTS } from './dialects.ts'
import { geminiGenerateContent } from './gemini/generate-content.ts'
import { openaiChat } from './openai/chat.ts'
import { openaiResponses } from './openai/responses.ts'
import type { WireDialect } from './wire/dialect.ts'

const request: ModelRequest = {
  model: 'any',
  system: '',
  messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
  tools: [{ name: 'plan', description: 'plans', inputSchema: { type: 'object' } }],
}
const bodyOf = (dialect: WireDialect, change: Partial<ModelRequest>): Record<string, unknown> =>
  JSON.parse(dialect.encode({ ...request, ...change }, { quirks: {} }).body)

for (const name of DIALECTS)
  test(`${name}: requiring a tool call changes one field of the request`, async () => {
    const dialect = await WIRE_DIALECTS[name].load()
    const free = bodyOf(dialect, {})
    const forced = Object.entries(bodyOf(dialect, { mustCall: true }))
    assert.equal(forced.filter(([field, value]) => !isDeepStrictEqual(free[field], value)).length, 1)
  })

const ROWS: { dialect: WireDialect; field: string; forced: unknown }[] = [
  { dialect: openaiChat, field: 'tool_choice', forced: 'required' },
  { dialect: openaiResponses, field: 'tool_choice', forced: 'required' },
  { dialect: anthropicMessages, field: 'tool_choice', forced: { type: 'any' } },
  { dialect: geminiGenerateContent, field: 'toolConfig', forced: { functionCallingConfig: { mode: 'ANY' } } },
]

for (const { dialect, field, forced } of ROWS)
  test(`${dialect.name} gets a forced tool choice when a tool call is required, and only then`, () => {
    assert.deepEqual(bodyOf(dialect, { mustCall: true })[field], forced)
    assert.equal(field in bodyOf(dialect, {}), false)
  })

test('a thinking model gets no forced tool choice, because the vendor rejects it', () => {
  const thinking = bodyOf(anthropicMessages, { model: 'claude-haiku-4-5', effort: 'high', mustCall: true })
  assert.ok(thinking.thinking)
  assert.equal('tool_choice' in thinking, false)
})

test('a model of the SDK gets a forced tool choice too', () => {
  assert.deepEqual(callOptions({ ...request, mustCall: true }).toolChoice, { type: 'required' })
  assert.deepEqual(callOptions(request).toolChoice, { type: 'auto' })
})
