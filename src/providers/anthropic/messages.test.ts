import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MessageCreateParamsStreaming } from '@anthropic-ai/sdk/resources/messages/messages'
import type { AssistantBody, MessageBody } from '../../core/message.ts'
import type { Grant } from '../../ports/credentials.ts'
import type { ModelRequest } from '../../ports/model.ts'
import type { EncodeContext } from '../wire/dialect.ts'
import { anthropicMessages } from './messages.ts'
import { anthropicFacts } from './model-facts.ts'

const hello: MessageBody = { role: 'user', content: [{ type: 'text', text: 'Hello' }] }
const request: ModelRequest = { model: 'claude-opus-5', system: 'Be kind.', messages: [hello], tools: [] }
const key: Grant = { credentialId: 'credential-1', secret: 'sk-ant-1', kind: 'api-key' }

const encode = (change: Partial<ModelRequest> = {}, context: Partial<EncodeContext> = {}) => {
  const { body, ...others } = anthropicMessages.encode({ ...request, ...change }, { quirks: {}, ...context })
  return { ...others, body: JSON.parse(body) as MessageCreateParamsStreaming }
}
const blocksOf = (change: Partial<ModelRequest>) =>
  encode(change).body.messages.map(({ role, content }) => [role, withoutMarks(content)])
const withoutMarks = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (name, inner) => (name === 'cache_control' ? undefined : inner)))

const answer = (content: AssistantBody['content'], ...callIds: string[]): AssistantBody => ({
  role: 'assistant',
  content,
  calls: callIds.map((callId) => ({
    callId,
    tool: 'look',
    input: { at: callId },
    digest: '',
    needsApproval: false,
    effects: 'none',
    parallel: false,
  })),
})

test('an API key is sent as x-api-key, without a beta header', () => {
  const { headers, path } = encode({}, { grant: key })
  assert.equal(path, '/v1/messages')
  assert.deepEqual(headers, { 'anthropic-version': '2023-06-01', 'x-api-key': 'sk-ant-1' })
})

test('an OAuth token is sent as a bearer token with its beta and the betas of the credential', () => {
  const grant: Grant = { ...key, kind: 'oauth', headers: { 'anthropic-beta': 'files-1, oauth-2025-04-20' } }
  const { headers } = encode({}, { grant })
  assert.equal(headers.authorization, 'Bearer sk-ant-1')
  assert.equal(headers['x-api-key'], undefined)
  assert.equal(headers['anthropic-beta'], 'files-1,oauth-2025-04-20')
})

test('only the model handle requests the long context, and not after it was rejected', () => {
  const long = encode({ model: 'claude-sonnet-4-5[1m]' })
  assert.equal(long.body.model, 'claude-sonnet-4-5')
  assert.equal(long.headers['anthropic-beta'], 'context-1m-2025-08-07')
  assert.equal(encode({ model: 'claude-sonnet-4-5' }).headers['anthropic-beta'], undefined)

  const dropped = encode({ model: 'claude-sonnet-4-5[1m]', adjustments: { dropLongContextBeta: true } })
  assert.equal(dropped.body.model, 'claude-sonnet-4-5')
  assert.equal(dropped.headers['anthropic-beta'], undefined)
  const quirks = { headers: { 'anthropic-beta': 'context-1m-2025-08-07' } }
  assert.equal(encode({ adjustments: { dropLongContextBeta: true } }, { quirks }).headers['anthropic-beta'], '')
})

test('the output limit is always set: by the request, by the model, or by a low default', () => {
  assert.equal(encode({ outputCap: 77 }).body.max_tokens, 77)
  assert.equal(encode({ model: 'claude-3-5-haiku-latest' }).body.max_tokens, 8_192)
  assert.equal(encode({ model: 'claude-opus-4-1-20250805' }).body.max_tokens, 32_000)
  assert.equal(encode({ model: 'claude-sonnet-4-20250514' }).body.max_tokens, 64_000)
  assert.equal(encode({ model: 'claude-haiku-5-5' }).body.max_tokens, 128_000)
  assert.equal(encode({ model: 'kimi-k2' }).body.max_tokens, 8_192)
})

test('context windows are stated for known models only', () => {
  assert.deepEqual(anthropicFacts('claude-sonnet-4-5'), { window: 200_000, maxOutput: 64_000 })
  assert.deepEqual(anthropicFacts('claude-sonnet-4-5[1m]'), { window: 1_000_000, maxOutput: 64_000 })
  assert.deepEqual(anthropicFacts('kimi-k2'), {})
})

test('effort is a budget for older models, a level for newer ones, and left out for models that do not think', () => {
  assert.deepEqual(encode({ effort: 'high' }).body.thinking, { type: 'adaptive', display: 'summarized' })
  assert.deepEqual(encode({ effort: 'high' }).body.output_config, { effort: 'high' })
  const older = encode({ model: 'claude-haiku-4-5', effort: 'high' }).body
  assert.deepEqual(older.thinking, { type: 'enabled', budget_tokens: 24_576 })
  assert.equal(older.output_config, undefined)
  const capped = encode({ model: 'claude-haiku-4-5', effort: 'high', outputCap: 4_000 }).body
  assert.deepEqual(capped.thinking, { type: 'enabled', budget_tokens: 2_000 })
  assert.equal(encode({ model: 'claude-haiku-4-5', effort: 'high', outputCap: 2_000 }).body.thinking, undefined)
  assert.equal(encode({ model: 'claude-3-5-haiku-latest', effort: 'high' }).body.thinking, undefined)
})

test('a step that another vendor started without a thought continues without a thinking budget', () => {
  const results: MessageBody = { role: 'tool', outcomes: [{ callId: 'a', status: 'success', output: 'x' }] }
  const thought = { type: 'reasoning', text: 'Hm.', signature: 'c2ln', origin: 'anthropic' } as const
  const budget = (content: AssistantBody['content'], adjustments = {}) =>
    encode({
      model: 'claude-haiku-4-5',
      effort: 'low',
      adjustments,
      messages: [hello, answer(content, 'a'), results],
    }).body.thinking
  assert.equal(budget([]), undefined)
  assert.ok(budget([thought]))
  assert.equal(budget([thought], { stripSignatures: true }), undefined)
})

test('thoughts are sent back to their vendor with their signature, and never without one', () => {
  const content: AssistantBody['content'] = [
    { type: 'reasoning', text: 'mine', signature: 's1', origin: 'anthropic' },
    { type: 'reasoning', text: 'old', signature: 's2' },
    { type: 'reasoning', text: 'unsigned' },
    { type: 'reasoning', text: 'foreign', signature: 's3', origin: 'gemini' },
    { type: 'redacted-reasoning', data: 'r1', origin: 'anthropic' },
    { type: 'redacted-reasoning', data: 'r2', origin: 'openai-chat' },
    { type: 'encrypted-reasoning', itemId: 'rs', data: 'e', origin: 'openai-responses' },
    { type: 'text', text: 'Hi' },
  ]
  const messages = [hello, answer(content), hello]
  assert.deepEqual(blocksOf({ messages })[1], [
    'assistant',
    [
      { type: 'thinking', thinking: 'mine', signature: 's1' },
      { type: 'thinking', thinking: 'old', signature: 's2' },
      { type: 'redacted_thinking', data: 'r1' },
      { type: 'text', text: 'Hi' },
    ],
  ])
  assert.deepEqual(blocksOf({ messages, adjustments: { stripSignatures: true } })[1], [
    'assistant',
    [{ type: 'text', text: 'Hi' }],
  ])
})

test('results directly follow their calls, carry images, and are marked if they are errors', () => {
  const image = { type: 'image', source: { mediaType: 'image/png', data: 'aGk=' } } as const
  const note = { type: 'text', text: '[An image was left out here: only text can be sent in this tool result.]' }
  const messages: MessageBody[] = [
    hello,
    answer([], 'a', 'b.1'),
    {
      role: 'tool',
      outcomes: [
        { callId: 'a', status: 'success', output: 'seen', images: [image] },
        { callId: 'b.1', status: 'denied', output: 'no', images: [image] },
      ],
    },
    { role: 'approval', decisions: [] },
    { role: 'user', content: [{ type: 'text', text: 'And?' }], name: 'Ada' },
  ]
  const [, called, answered] = blocksOf({ messages }) as [unknown, [string, { id: string }[]], unknown]
  const [first, second] = called[1].map(({ id }) => id)
  assert.equal(first, 'a')
  assert.match(second!, /^b_1_[a-z0-9]+$/)
  assert.deepEqual(answered, [
    'user',
    [
      {
        type: 'tool_result',
        tool_use_id: 'a',
        content: [
          { type: 'text', text: 'seen' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } },
        ],
      },
      { type: 'tool_result', tool_use_id: second, content: [{ type: 'text', text: 'no' }, note], is_error: true },
      { type: 'text', text: '[Message from Ada]' },
      { type: 'text', text: 'And?' },
    ],
  ])
  const textOnly = JSON.stringify(blocksOf({ messages, adjustments: { textOnlyResults: true } }))
  assert.ok(!textOnly.includes('"image"'))
})

test('there are at most four cache marks: at the end of the prompt and of the last three messages', () => {
  const many = Array.from({ length: 9 }, (_, index) => [hello, answer([{ type: 'text', text: `${index}` }])]).flat()
  const tools = [{ name: 'look', description: 'Looks.', inputSchema: { type: 'object' } }]
  const marksOf = (change: Partial<ModelRequest>) => {
    const { body } = encode({ messages: [...many, hello], tools, ...change })
    return { tools: marks(body.tools), system: marks(body.system), messages: body.messages.map(marks) }
  }
  const none = Array(16).fill(0)
  assert.deepEqual(marksOf({}), { tools: 0, system: 1, messages: [...none, 1, 1, 1] })
  assert.deepEqual(marksOf({ system: '' }), { tools: 1, system: 0, messages: [...none, 1, 1, 1] })
})

const marks = (value: unknown): number => JSON.stringify(value ?? '').split('"cache_control"').length - 1

test('a history of any length has its cache marks at its end', () => {
  for (let length = 3; length < 200; length++) {
    const messages = Array.from({ length }, (_, index) =>
      index % 2 === 0 ? hello : answer([{ type: 'text', text: 'Hi' }]),
    )
    const { body } = encode({ messages })
    const marksPerMessage = body.messages.slice(0, length).map(marks)
    assert.deepEqual(marksPerMessage, [...Array(length - 3).fill(0), 1, 1, 1])
  }
})

test('a thought at the end of an answer carries no cache mark; the message before it does', () => {
  const thought = { type: 'redacted-reasoning', data: 'r', origin: 'anthropic' } as const
  const { body } = encode({ messages: [hello, answer([thought]), hello, answer([thought]), hello, hello] })
  assert.deepEqual(body.messages.map(marks), [0, 0, 1, 0, 2])
})

test('a summary is labeled, and a system message in mid-conversation is tagged', () => {
  const messages: MessageBody[] = [
    { role: 'summary', text: 'They met.', replaces: { from: 1, to: 40 } },
    { role: 'system', content: [{ type: 'text', text: 'It is night.' }] },
  ]
  const [[role, blocks]] = blocksOf({ messages }) as [[string, { text: string }[]]]
  assert.equal(role, 'user')
  assert.match(blocks[0]!.text, /summary of messages 1 to 40[\s\S]*They met\./)
  assert.equal(blocks[1]!.text, '<system>\nIt is night.\n</system>')
})

test('structured output is requested in the subset of JSON Schema that the vendor supports', () => {
  const schema = {
    type: 'object',
    properties: {
      age: { type: 'integer', minimum: 0 },
      format: { oneOf: [{ type: 'string', pattern: '^a' }, { type: 'null' }] },
      tags: { type: 'array', items: { type: 'object', properties: {} }, minItems: 3 },
      when: { type: 'string', format: 'date-time' },
    },
    required: ['age'],
  }
  assert.deepEqual(
    encode({ settings: { responseFormat: { type: 'json-schema', name: 'person', schema } } }).body.output_config
      ?.format,
    {
      type: 'json_schema',
      schema: {
        type: 'object',
        required: ['age'],
        additionalProperties: false,
        properties: {
          age: { type: 'integer' },
          format: { anyOf: [{ type: 'string' }, { type: 'null' }] },
          tags: { type: 'array', items: { type: 'object', properties: {}, additionalProperties: false } },
          when: { type: 'string', format: 'date-time' },
        },
      },
    },
  )
})

test('tools carry their schema, relaxed if the request asks for it', () => {
  const inputSchema = { type: 'object', properties: { url: { type: 'string', format: 'uri', pattern: '^h' } } }
  const tools = [{ name: 'open', description: 'Opens.', inputSchema }]
  const schemaOf = (adjustments: ModelRequest['adjustments'] & object) => {
    const [tool] = encode({ tools, adjustments }).body.tools!
    return 'input_schema' in tool! ? tool.input_schema : undefined
  }
  assert.deepEqual(schemaOf({}), inputSchema)
  assert.deepEqual(schemaOf({ relaxSchemas: true }), { type: 'object', properties: { url: { type: 'string' } } })
})
