import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Content, GenerationConfig, Tool } from '@google/genai'
import { defined } from '../../core/defined.ts'
import type { AssistantBody, MessageBody } from '../../core/message.ts'
import type { Grant } from '../../ports/credentials.ts'
import type { ModelRequest } from '../../ports/model.ts'
import { geminiGenerateContent } from './generate-content.ts'

const hello: MessageBody = { role: 'user', content: [{ type: 'text', text: 'Hello' }] }
const request: ModelRequest = { model: 'gemini-2.5-pro', system: 'Be kind.', messages: [hello], tools: [] }
type Body = { contents: Content[]; systemInstruction?: Content; tools?: Tool[]; generationConfig: GenerationConfig }

const encode = (change: Partial<ModelRequest> = {}, grant?: Grant) => {
  const encoded = geminiGenerateContent.encode({ ...request, ...change }, { quirks: {}, ...defined({ grant }) })
  return { ...encoded, body: JSON.parse(encoded.body) as Body }
}

const answer = (
  content: AssistantBody['content'],
  ...calls: { callId: string; signature?: string }[]
): AssistantBody => ({
  role: 'assistant',
  content,
  calls: calls.map((call) => ({
    tool: 'look',
    input: { at: call.callId },
    digest: '',
    needsApproval: false,
    effects: 'none',
    parallel: false,
    ...call,
  })),
})
const results = (...callIds: string[]): MessageBody => ({
  role: 'tool',
  outcomes: callIds.map((callId) => ({ callId, status: 'success', output: `seen ${callId}` })),
})

test('a request has its model in the path, its key in a header and its system prompt in a separate field', () => {
  const grant: Grant = { credentialId: 'credential-1', secret: 'AIza1', kind: 'api-key' }
  const { path, headers, body } = encode({ outputCap: 99 }, grant)
  assert.equal(path, '/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse')
  assert.deepEqual(headers, { 'x-goog-api-key': 'AIza1' })
  assert.deepEqual(body, {
    systemInstruction: { parts: [{ text: 'Be kind.' }] },
    generationConfig: { maxOutputTokens: 99 },
    contents: [{ role: 'user', parts: [{ text: 'Hello' }] }],
  })
  assert.deepEqual(encode({}, { ...grant, kind: 'oauth' }).headers, { authorization: 'Bearer AIza1' })
})

test('effort is a budget for one generation, a level for the next, and is left out for older ones', () => {
  const thinking = (model: string) => encode({ model, effort: 'medium' }).body.generationConfig.thinkingConfig
  assert.deepEqual(thinking('gemini-2.5-flash'), { includeThoughts: true, thinkingBudget: 8_192 })
  assert.deepEqual(thinking('gemini-3-flash-preview'), { includeThoughts: true, thinkingLevel: 'MEDIUM' })
  assert.deepEqual(thinking('gemini-3-pro-preview'), { includeThoughts: true, thinkingLevel: 'HIGH' })
  assert.deepEqual(thinking('gemini-4-argon'), { includeThoughts: true, thinkingLevel: 'MEDIUM' })
  assert.equal(thinking('gemini-2.0-flash'), undefined)
  assert.equal(thinking('gemma-3-27b-it'), undefined)
  assert.equal(encode().body.generationConfig.thinkingConfig, undefined)
})

test('signatures are sent back on the part they came with, and only those of this vendor', () => {
  const content: AssistantBody['content'] = [
    { type: 'reasoning', text: 'Hm.', signature: 's1', origin: 'gemini' },
    { type: 'reasoning', text: 'unsigned' },
    { type: 'reasoning', text: 'foreign', signature: 's2', origin: 'anthropic' },
    { type: 'text', text: 'Hi' },
    { type: 'reasoning', text: '', signature: 's3', origin: 'gemini' },
  ]
  const messages = [hello, answer(content, { callId: 'a', signature: 's4' }, { callId: 'b' }), results('a', 'b')]
  const call = (id: string) => ({ functionCall: { id, name: 'look', args: { at: id } } })
  assert.deepEqual(encode({ messages }).body.contents[1], {
    role: 'model',
    parts: [
      { text: 'Hm.', thought: true, thoughtSignature: 's1' },
      { text: 'Hi', thoughtSignature: 's3' },
      { ...call('a'), thoughtSignature: 's4' },
      call('b'),
    ],
  })
  assert.deepEqual(encode({ messages, adjustments: { stripSignatures: true } }).body.contents[1], {
    role: 'model',
    parts: [{ text: 'Hi' }, call('a'), call('b')],
  })
})

test('a call that this vendor did not sign gets the placeholder signature where signatures are required', () => {
  const messages = [hello, answer([], { callId: 'a', signature: 'ai-sdk:call:{}' }, { callId: 'b' }), results('a', 'b')]
  const signatures = (model: string) =>
    encode({ model, messages }).body.contents[1]!.parts!.map((part) => part.thoughtSignature)
  assert.deepEqual(signatures('gemini-3-pro-preview'), ['skip_thought_signature_validator', undefined])
  assert.deepEqual(signatures('gemini-2.5-pro'), [undefined, undefined])
})

test('results are sent together in the order of their calls, with the names of their tools and their images', () => {
  const image = { type: 'image', source: { mediaType: 'image/png', data: 'aGk=' } } as const
  const messages: MessageBody[] = [
    hello,
    answer([], { callId: 'a' }, { callId: 'b' }),
    {
      role: 'tool',
      outcomes: [
        { callId: 'a', status: 'success', output: 'seen', images: [image] },
        { callId: 'b', status: 'unknown', output: 'lost' },
      ],
    },
    { role: 'approval', decisions: [] },
    hello,
  ]
  const inlineData = { mimeType: 'image/png', data: 'aGk=' }
  const lost = { functionResponse: { id: 'b', name: 'look', response: { error: 'lost' } } }
  const seen = { id: 'a', name: 'look', response: { output: 'seen' } }
  const partsOf = (change: Partial<ModelRequest>) => encode({ messages, ...change }).body.contents[2]!.parts
  assert.deepEqual(partsOf({}), [{ functionResponse: seen }, lost, { inlineData }, { text: 'Hello' }])
  assert.deepEqual(partsOf({ model: 'gemini-3-pro-preview' }), [
    { functionResponse: { ...seen, parts: [{ inlineData }] } },
    lost,
    { text: 'Hello' },
  ])
  const output = 'seen\n[An image was left out here: only text can be sent in this tool result.]'
  assert.deepEqual(partsOf({ adjustments: { textOnlyResults: true } }), [
    { functionResponse: { ...seen, response: { output } } },
    lost,
    { text: 'Hello' },
  ])
})

test('images are sent as bytes or as a URL; a type that the vendor rejects is replaced by a text', () => {
  const content = [
    { type: 'image', source: { mediaType: 'image/webp', data: 'aGk=' } },
    { type: 'image', source: { url: 'https://example.com/a.png?x=1' } },
    { type: 'image', source: { mediaType: 'image/gif', data: 'aGk=' } },
  ] as const
  assert.deepEqual(encode({ messages: [{ role: 'user', content: [...content] }] }).body.contents[0]!.parts, [
    { inlineData: { mimeType: 'image/webp', data: 'aGk=' } },
    { fileData: { fileUri: 'https://example.com/a.png?x=1', mimeType: 'image/png' } },
    { text: '[An image was left out here: its type image/gif is not one this model takes.]' },
  ])
})

test('tool schemas keep the keywords that the vendor supports and lose the others, at every depth', () => {
  const inputSchema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    additionalProperties: false,
    properties: {
      pattern: { type: 'string', pattern: '^a', minLength: 1, default: 'a' },
      mode: { const: 'fast' },
      flag: { enum: [true, false] },
      list: { type: 'array', items: { type: 'string', examples: ['x'] }, uniqueItems: true, minItems: 1 },
      either: { anyOf: [{ type: 'string', maxLength: 3 }, { type: 'null' }] },
      self: { $ref: '#/$defs/node', description: 'dropped beside a reference' },
    },
    $defs: { node: { type: 'object', patternProperties: {} } },
    required: ['pattern'],
    not: {},
  }
  const [tool] = encode({ tools: [{ name: 'open', description: 'Opens.', inputSchema }] }).body.tools!
  assert.deepEqual(tool!.functionDeclarations, [
    {
      name: 'open',
      description: 'Opens.',
      parametersJsonSchema: {
        type: 'object',
        additionalProperties: false,
        properties: {
          pattern: { type: 'string' },
          mode: { enum: ['fast'] },
          flag: {},
          list: { type: 'array', items: { type: 'string' }, minItems: 1 },
          either: { anyOf: [{ type: 'string' }, { type: 'null' }] },
          self: { $ref: '#/$defs/node' },
        },
        $defs: { node: { type: 'object' } },
        required: ['pattern'],
      },
    },
  ])
})

test('structured output has its own field, except together with the tools of an older model', () => {
  const responseFormat = {
    type: 'json-schema' as const,
    name: 'answer',
    schema: { type: 'object', properties: { a: { type: 'string' } } },
  }
  const tools = [{ name: 'open', description: 'Opens.', inputSchema: { type: 'object' } }]
  const config = { responseMimeType: 'application/json', responseJsonSchema: responseFormat.schema }
  assert.deepEqual(encode({ settings: { responseFormat } }).body.generationConfig, config)
  assert.deepEqual(encode({ settings: { responseFormat }, tools, model: 'gemini-3-pro' }).body.generationConfig, config)
  const older = encode({ settings: { responseFormat }, tools }).body
  assert.deepEqual(older.generationConfig, {})
  assert.match(older.systemInstruction!.parts![0]!.text!, /^Be kind\.\n\nYour last answer must be JSON/)
})
