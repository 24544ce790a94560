import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ImagePart } from '../../core/image-part.ts'
import type { AssistantBody, MessageBody } from '../../core/message.ts'
import type { ToolCall } from '../../core/tool-call.ts'
import type { ModelRequest } from '../../ports/model.ts'
import type { Quirks } from '../wire/quirks.ts'
import { openaiResponses } from './responses.ts'

const IMAGE: ImagePart = { type: 'image', source: { mediaType: 'image/png', data: 'aGk=' } }
const INPUT_IMAGE = { type: 'input_image', detail: 'auto', image_url: 'data:image/png;base64,aGk=' }
const CALL: ToolCall = {
  callId: 'call_1',
  tool: 'weather',
  input: { b: 1, a: 2 },
  digest: 'd',
  needsApproval: false,
  effects: 'none',
  parallel: true,
}
const THOUGHT: AssistantBody['content'] = [
  { type: 'reasoning', text: 'Look it up' },
  { type: 'encrypted-reasoning', itemId: 'rs_1', data: 'gAAAA', origin: 'openai-responses' },
]

function bodyOf(more: Partial<ModelRequest>, quirks: Quirks = {}) {
  const request = { model: 'gpt-5', system: '', messages: [], tools: [], ...more }
  return JSON.parse(openaiResponses.encode(request, { quirks }).body)
}
const items = (body: MessageBody, adjustments: ModelRequest['adjustments'] = {}) =>
  bodyOf({ messages: [body], adjustments }).input

test('the vendor stores nothing and returns encrypted reasoning', () => {
  assert.deepEqual(bodyOf({ system: 'Be brief.' }), {
    model: 'gpt-5',
    instructions: 'Be brief.',
    input: [],
    stream: true,
    store: false,
    include: ['reasoning.encrypted_content'],
  })
})

test('encrypted reasoning is not requested where the vendor would reject it', () => {
  assert.equal(bodyOf({ model: 'gpt-4o-mini' }).include, undefined)
  assert.equal(bodyOf({ adjustments: { dropEncryptedReasoning: true } }).include, undefined)
})

test('tools, output limit, effort, summaries and output schema are in the fields of the vendor', () => {
  const schema = { type: 'object', properties: {} }
  const body = bodyOf(
    {
      tools: [{ name: 'weather', description: 'Tells it.', inputSchema: schema }],
      outputCap: 99,
      effort: 'low',
      settings: { responseFormat: { type: 'json-schema', name: 'answer', schema, strict: true } },
    },
    { reasoningSummary: 'auto' },
  )
  assert.deepEqual(body.tools, [
    { type: 'function', name: 'weather', description: 'Tells it.', parameters: schema, strict: false },
  ])
  assert.equal(body.max_output_tokens, 99)
  assert.deepEqual(body.reasoning, { effort: 'low', summary: 'auto' })
  assert.deepEqual(body.text, { format: { type: 'json_schema', name: 'answer', schema, strict: true } })
})

test('reasoning is replayed with the item it led to', () => {
  const body: MessageBody = { role: 'assistant', content: [...THOUGHT, { type: 'text', text: 'Wait.' }], calls: [CALL] }
  const replayed = [
    { role: 'assistant', content: 'Wait.' },
    { type: 'function_call', call_id: 'call_1', name: 'weather', arguments: '{"a":2,"b":1}' },
  ]
  const thought = {
    type: 'reasoning',
    id: 'rs_1',
    summary: [{ type: 'summary_text', text: 'Look it up' }],
    encrypted_content: 'gAAAA',
  }
  assert.deepEqual(items(body), [thought, ...replayed])
  assert.deepEqual(items(body, { dropEncryptedReasoning: true }), replayed)
  assert.deepEqual(items(body), [thought, ...replayed], 'the adjustment affects its own request only')
})

test('reasoning without a following item and reasoning of other dialects are left out', () => {
  assert.deepEqual(items({ role: 'assistant', content: THOUGHT, calls: [] }), [])
  const content: AssistantBody['content'] = [
    { type: 'encrypted-reasoning', itemId: 'x', data: 'y', origin: 'gemini' },
    { type: 'reasoning', text: 'signed', signature: 's', origin: 'anthropic' },
    { type: 'redacted-reasoning', data: 'z', origin: 'anthropic' },
    { type: 'text', text: 'yes' },
  ]
  assert.deepEqual(items({ role: 'assistant', content, calls: [] }), [{ role: 'assistant', content: 'yes' }])
})

test('results carry their images where the vendor accepts images', () => {
  const body: MessageBody = {
    role: 'tool',
    outcomes: [
      { callId: 'call_1', status: 'success', output: 'a chart', images: [IMAGE] },
      { callId: 'call_2', status: 'unknown', output: 'It may or may not have taken effect.' },
    ],
  }
  const second = { type: 'function_call_output', call_id: 'call_2', output: 'It may or may not have taken effect.' }
  assert.deepEqual(items(body), [
    { type: 'function_call_output', call_id: 'call_1', output: [{ type: 'input_text', text: 'a chart' }, INPUT_IMAGE] },
    second,
  ])
  const textOnly = items(body, { textOnlyResults: true })
  assert.match(textOnly[0].output, /^a chart\n\[An image was left out here: /)
  assert.deepEqual(textOnly[1], second)
})

test('inputs carry their images, a summary is labeled, and approvals are never sent', () => {
  assert.deepEqual(items({ role: 'user', content: [{ type: 'text', text: 'this' }, IMAGE] }), [
    { role: 'user', content: [{ type: 'input_text', text: 'this' }, INPUT_IMAGE] },
  ])
  assert.match(items({ role: 'summary', text: 'They met.', replaces: { from: 1, to: 9 } })[0].content, /summary/)
  assert.deepEqual(items({ role: 'approval', decisions: [] }), [])
  const system: MessageBody = { role: 'system', content: [{ type: 'text', text: 'It is Monday.' }] }
  assert.deepEqual(items(system), [{ role: 'system', content: 'It is Monday.' }])
})
