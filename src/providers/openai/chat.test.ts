import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defined } from '../../core/defined.ts'
import type { ImagePart } from '../../core/image-part.ts'
import type { AssistantBody, MessageBody, ToolBody } from '../../core/message.ts'
import type { ToolCall } from '../../core/tool-call.ts'
import type { ModelRequest } from '../../ports/model.ts'
import { findVendor } from '../vendors.ts'
import type { Quirks } from '../wire/quirks.ts'
import { openaiChat } from './chat.ts'

const IMAGE: ImagePart = { type: 'image', source: { mediaType: 'image/png', data: 'aGk=' } }
const DATA_URL = 'data:image/png;base64,aGk='

const call = (callId: string, input: ToolCall['input']): ToolCall => ({
  callId,
  tool: 'weather',
  input,
  digest: 'd',
  needsApproval: false,
  effects: 'none',
  parallel: true,
})
const user = (text: string): MessageBody => ({ role: 'user', content: [{ type: 'text', text }] })

function bodyOf(more: Partial<ModelRequest>, quirks: Quirks = {}) {
  const request = { model: 'm', system: 'Be brief.', messages: [], tools: [], ...more }
  return JSON.parse(openaiChat.encode(request, { quirks }).body)
}
const sent = (messages: MessageBody[], more: Partial<ModelRequest> = {}, quirks: Quirks = {}) =>
  bodyOf({ messages, ...more }, quirks).messages.slice(1)

test('the system prompt comes first, and a minimal request asks for a stream with usage', () => {
  assert.deepEqual(bodyOf({ messages: [user('hi')] }), {
    model: 'm',
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'hi' },
    ],
    stream: true,
    stream_options: { include_usage: true },
  })
  assert.deepEqual(bodyOf({ system: '', messages: [user('hi')] }).messages, [{ role: 'user', content: 'hi' }])
  assert.deepEqual(bodyOf({ system: '' }).messages, [])
})

test('tools, output limit, effort and output schema are in the fields of the vendor', () => {
  const schema = { type: 'object', properties: { a: { type: 'string', pattern: 'x' } } }
  const body = bodyOf({
    tools: [{ name: 'weather', description: 'Tells it.', inputSchema: schema }],
    outputCap: 99,
    effort: 'high',
    settings: { responseFormat: { type: 'json-schema', name: 'answer', schema, strict: true } },
  })
  assert.deepEqual(body.tools, [
    { type: 'function', function: { name: 'weather', description: 'Tells it.', parameters: schema } },
  ])
  assert.equal(body.max_completion_tokens, 99)
  assert.equal(body.reasoning_effort, 'high')
  assert.deepEqual(body.response_format, {
    type: 'json_schema',
    json_schema: { name: 'answer', schema, strict: true },
  })
})

test('relaxed schemas lose the keywords that grammars cannot express, for this request only', () => {
  const tool = {
    name: 'write',
    description: '',
    inputSchema: { type: 'object', properties: { format: { type: 'string', format: 'uri', pattern: '^h' } } },
  }
  const parameters = (adjustments: ModelRequest['adjustments']) =>
    bodyOf({ tools: [tool], ...defined({ adjustments }) }).tools[0].function.parameters
  assert.deepEqual(parameters({ relaxSchemas: true }), { type: 'object', properties: { format: { type: 'string' } } })
  assert.deepEqual(parameters(undefined), tool.inputSchema)
})

test('an answer keeps its text and its calls, with arguments as canonical JSON', () => {
  const content: AssistantBody['content'] = [
    { type: 'reasoning', text: 'hm' },
    { type: 'text', text: 'Let me ' },
    { type: 'text', text: 'look.' },
  ]
  const first = sent([{ role: 'assistant', content, calls: [call('call_1', { b: 1, a: [2] })] }])
  const second = sent([{ role: 'assistant', content, calls: [call('call_1', { a: [2], b: 1 })] }])
  assert.deepEqual(first, second)
  assert.deepEqual(first, [
    {
      role: 'assistant',
      content: 'Let me look.',
      tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"a":[2],"b":1}' } }],
    },
  ])
  assert.equal(sent([{ role: 'assistant', content: [], calls: [call('call_1', {})] }])[0].content, null)
})

test('tool outcomes are sent unchanged', () => {
  const outcomes: ToolBody['outcomes'] = [
    { callId: 'call_1', status: 'success', output: 'sunny' },
    { callId: 'call_2', status: 'denied', output: 'Denied: a person declined this call. It did not run.' },
  ]
  assert.deepEqual(sent([{ role: 'tool', outcomes }]), [
    { role: 'tool', tool_call_id: 'call_1', content: 'sunny' },
    { role: 'tool', tool_call_id: 'call_2', content: 'Denied: a person declined this call. It did not run.' },
  ])
})

test('images of tool results follow the last result in a user message', () => {
  const outcomes: ToolBody['outcomes'] = [
    { callId: 'call_1', status: 'success', output: 'a chart', images: [IMAGE] },
    { callId: 'call_2', status: 'success', output: 'text' },
  ]
  const messages = sent([{ role: 'tool', outcomes }])
  assert.deepEqual(
    messages.map((message: { role: string }) => message.role),
    ['tool', 'tool', 'user'],
  )
  assert.deepEqual(messages[2].content, [
    { type: 'text', text: '[Images that the tool call call_1 returned]' },
    { type: 'image_url', image_url: { url: DATA_URL } },
  ])
  for (const more of [
    { adjustments: { textOnlyResults: true as const } },
    { adjustments: { stripImages: true as const } },
  ]) {
    const adjusted = sent([{ role: 'tool', outcomes }], more)
    assert.equal(adjusted.length, 2)
    assert.match(adjusted[0].content, /^a chart\n\[An image was left out here: /)
  }
  assert.equal(sent([{ role: 'tool', outcomes }], {}, { textOnlyResults: true }).length, 2)
})

test('images of users are sent inline or as a URL, or are replaced by a text', () => {
  const body: MessageBody = {
    role: 'user',
    content: [
      { type: 'text', text: 'what is this?' },
      IMAGE,
      { type: 'image', source: { url: 'https://a.example/b' } },
    ],
  }
  assert.deepEqual(sent([body])[0].content, [
    { type: 'text', text: 'what is this?' },
    { type: 'image_url', image_url: { url: DATA_URL } },
    { type: 'image_url', image_url: { url: 'https://a.example/b' } },
  ])
  const stripped = sent([body], { adjustments: { stripImages: true } })[0].content
  assert.ok(stripped.every((part: { type: string }) => part.type === 'text'))
  assert.deepEqual(sent([body])[0].content[1].type, 'image_url', 'the adjustment affects its own request only')
})

test('a summary is labeled, and approvals are never sent', () => {
  const messages = sent([
    { role: 'summary', text: 'They met.', replaces: { from: 1, to: 9 } },
    { role: 'approval', decisions: [{ callId: 'call_1', verdict: 'deny' }] },
    user('go on'),
  ])
  assert.equal(messages.length, 2)
  assert.equal(messages[0].role, 'user')
  assert.match(messages[0].content, /summary of messages 1 to 9.*They met\./s)
})

test('the same history gives the same leading bytes, independent of later messages', () => {
  const history = [user('one'), user('two')]
  const bytes = (messages: MessageBody[]) =>
    openaiChat.encode({ model: 'm', system: 's', messages, tools: [] }, { quirks: {} }).body
  const before = bytes(history)
  const after = bytes([...structuredClone(history), user('three')])
  const prefix = before.slice(0, before.indexOf(']'))
  assert.ok(after.startsWith(prefix))
  assert.equal(bytes(history), before)
})

test('thoughts are sent back only where the vendor needs them, and never those of another dialect', () => {
  const body: MessageBody = {
    role: 'assistant',
    content: [
      { type: 'reasoning', text: 'ours' },
      { type: 'reasoning', text: 'theirs', signature: 's', origin: 'anthropic' },
      { type: 'encrypted-reasoning', itemId: 'rs_1', data: 'x', origin: 'openai-responses' },
      { type: 'text', text: 'yes' },
    ],
    calls: [],
  }
  assert.deepEqual(sent([body]), [{ role: 'assistant', content: 'yes' }])
  assert.deepEqual(sent([body], {}, { reasoningField: 'reasoning_content' }), [
    { role: 'assistant', content: 'yes', reasoning_content: 'ours' },
  ])
  const called: MessageBody = { role: 'assistant', content: [], calls: [call('call_1', {})] }
  assert.equal(sent([called], {}, findVendor('deepseek')!.quirks)[0].reasoning_content, '')
})

test('signed thoughts of an aggregator are sent back unchanged, unless signatures are stripped', () => {
  const details = [{ type: 'reasoning.text', text: 'hm', signature: 'sig', index: 0 }]
  const body: MessageBody = {
    role: 'assistant',
    content: [
      { type: 'reasoning', text: 'hm', signature: JSON.stringify(details), origin: 'openai-chat' },
      { type: 'text', text: 'yes' },
    ],
    calls: [],
  }
  const { quirks } = findVendor('openrouter')!
  assert.deepEqual(sent([body], {}, quirks)[0].reasoning_details, details)
  const stripped = sent([body], { adjustments: { stripSignatures: true } }, quirks)[0]
  assert.equal(stripped.reasoning_details, undefined)
  assert.equal(stripped.reasoning, 'hm')
})

test('quirks rename the output limit, leave out the usage option, and adapt ids and names', () => {
  const { quirks } = findVendor('mistral')!
  const called: MessageBody = { role: 'assistant', content: [], calls: [call('call_with_a_long_id', {})] }
  const result: MessageBody = {
    role: 'tool',
    outcomes: [{ callId: 'call_with_a_long_id', status: 'success', output: '' }],
  }
  const named: MessageBody = { role: 'user', content: [{ type: 'text', text: 'hi' }], name: 'ada' }
  const body = bodyOf({ messages: [named, called, result], outputCap: 5 }, quirks)
  assert.equal(body.max_tokens, 5)
  assert.equal(body.stream_options, undefined)
  const [, input, answered, toolMessage] = body.messages
  assert.equal(input.name, undefined)
  assert.match(answered.tool_calls[0].id, /^[a-zA-Z0-9]{9}$/)
  assert.equal(toolMessage.tool_call_id, answered.tool_calls[0].id)
  assert.equal(sent([named])[0].name, 'ada')
})

test('ids that are too long and names that the vendor rejects are adapted, the same way each time', () => {
  const long = 'x'.repeat(64)
  const answer: AssistantBody = {
    role: 'assistant',
    content: [],
    calls: [{ ...call(long, {}), tool: 'no such tool!' }],
  }
  const [first, second] = sent([answer, { role: 'tool', outcomes: [{ callId: long, status: 'error', output: 'no' }] }])
  assert.equal(first.tool_calls[0].function.name, 'no_such_tool_')
  assert.ok(first.tool_calls[0].id.length <= 40)
  assert.equal(second.tool_call_id, first.tool_calls[0].id)
})

test('the key is sent in the header of the vendor, and without a key there is no header', () => {
  const grant = { credentialId: 'credential-1', secret: 's', kind: 'api-key' } as const
  const request = { model: 'm', system: '', messages: [], tools: [] }
  const headers = (quirks: Quirks) => openaiChat.encode(request, { grant, quirks }).headers
  assert.deepEqual(headers({}), { authorization: 'Bearer s' })
  assert.deepEqual(headers({ auth: 'api-key' }), { 'api-key': 's' })
  assert.deepEqual(headers({ auth: 'none' }), {})
  assert.deepEqual(openaiChat.encode(request, { quirks: {} }).headers, {})
})
