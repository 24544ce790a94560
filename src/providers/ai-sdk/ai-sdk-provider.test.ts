import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import {
  APICallError,
  type LanguageModelV3,
  type LanguageModelV3CallOptions,
  type LanguageModelV3StreamPart,
  LoadAPIKeyError,
} from '@ai-sdk/provider'
import { createGateway } from 'ai'
import { addPart, type Draft, newDraft, type Part } from '../../core/answer.ts'
import type { AssistantBody, MessageBody } from '../../core/message.ts'
import type { ModelRequest } from '../../ports/model.ts'
import type { Refusal } from '../wire/dialect.ts'
import { type AiSdkOptions, aiSdkProvider } from './ai-sdk-provider.ts'

const hello: MessageBody = { role: 'user', content: [{ type: 'text', text: 'Hello' }] }
const request: ModelRequest = { model: 'some-model', system: 'Be kind.', messages: [hello], tools: [] }
const usage = {
  inputTokens: { total: 12, noCache: 2, cacheRead: 10, cacheWrite: undefined },
  outputTokens: { total: 7, text: 3, reasoning: 4 },
}
const FINISH: LanguageModelV3StreamPart = { type: 'finish', usage, finishReason: { unified: 'stop', raw: 'stop' } }

function options(refusals: Refusal[] = []): AiSdkOptions {
  return {
    provider: 'sdk',
    classify(refusal) {
      refusals.push(refusal)
      return { kind: 'rate-limited', detail: 'slow down' }
    },
    classifyTransport: (error) => ({ kind: 'unreachable', detail: String(error) }),
  }
}

/** A model that plays the given parts and records its call options. */
function playing(
  parts: LanguageModelV3StreamPart[],
  callOptionsSeen: LanguageModelV3CallOptions[] = [],
): LanguageModelV3 {
  return modelOf(async (call) => {
    callOptionsSeen.push(call)
    return { stream: ReadableStream.from(parts) as ReadableStream<LanguageModelV3StreamPart> }
  })
}

const modelOf = (doStream: LanguageModelV3['doStream']): LanguageModelV3 => ({
  specificationVersion: 'v3',
  provider: 'literal',
  modelId: 'some-model',
  supportedUrls: {},
  doStream,
  doGenerate: () => Promise.reject(new Error('only streams are supported')),
})

async function partsOf(model: LanguageModelV3, change: Partial<ModelRequest> = {}, set = options()): Promise<Part[]> {
  const provider = aiSdkProvider(() => model, set)
  const stream = provider.stream({ ...request, ...change }, { signal: AbortSignal.timeout(10_000) })
  return all(stream)
}

async function draftOf(model: LanguageModelV3): Promise<Draft> {
  const draft = newDraft()
  for (const part of await partsOf(model)) addPart(draft, part)
  return draft
}

test('text, reasoning, calls and usage of any model of the SDK become an answer', async () => {
  const draft = await draftOf(
    playing([
      { type: 'stream-start', warnings: [] },
      { type: 'reasoning-start', id: 'r', providerMetadata: { openai: { itemId: 'rs_1' } } },
      { type: 'reasoning-delta', id: 'r', delta: 'Hm' },
      { type: 'reasoning-delta', id: 'r', delta: '.' },
      { type: 'reasoning-end', id: 'r', providerMetadata: { openai: { encrypted: 'xyz' } } },
      { type: 'text-start', id: 't' },
      { type: 'text-delta', id: 't', delta: 'Hi' },
      { type: 'text-end', id: 't' },
      { type: 'tool-input-start', id: 'a', toolName: 'look' },
      { type: 'tool-input-delta', id: 'a', delta: '{"at":' },
      { type: 'tool-input-delta', id: 'a', delta: '1}' },
      { type: 'tool-input-end', id: 'a' },
      {
        type: 'tool-call',
        toolCallId: 'a',
        toolName: 'look',
        input: '{"at":1}',
        providerMetadata: { google: { s: 'x' } },
      },
      { type: 'tool-call', toolCallId: 'b', toolName: 'look', input: '{"at":2}' },
      { type: 'tool-call', toolCallId: 's', toolName: 'web', input: '{}', providerExecuted: true },
      { type: 'finish', usage, finishReason: { unified: 'tool-calls', raw: 'tool_use' } },
    ]),
  )
  assert.deepEqual(draft.content, [
    {
      type: 'reasoning',
      text: 'Hm.',
      signature: 'ai-sdk:reasoning:{"openai":{"itemId":"rs_1","encrypted":"xyz"}}',
      origin: 'ai-sdk',
    },
    { type: 'text', text: 'Hi' },
  ])
  assert.deepEqual(draft.calls, [
    { callId: 'a', tool: 'look', json: '{"at":1}', signature: 'ai-sdk:call:{"google":{"s":"x"}}' },
    { callId: 'b', tool: 'look', json: '{"at":2}' },
  ])
  assert.deepEqual(draft.usage, { promptTokens: 12, completionTokens: 7, cachedTokens: 10, reasoningTokens: 4 })
  assert.equal(draft.finish, 'tool-calls')
})

test('metadata of a model is sent back on the same parts, and signatures of other dialects are not', async () => {
  const parts = await partsOf(
    playing([
      { type: 'reasoning-start', id: 'r' },
      { type: 'reasoning-delta', id: 'r', delta: 'Hm', providerMetadata: { anthropic: { signature: 'sig' } } },
      { type: 'reasoning-end', id: 'r' },
      { type: 'text-start', id: 't' },
      { type: 'text-delta', id: 't', delta: 'Hi' },
      { type: 'text-end', id: 't', providerMetadata: { openai: { itemId: 'msg_1' } } },
      { type: 'tool-call', toolCallId: 'a', toolName: 'look', input: '{}', providerMetadata: { google: { s: 'x' } } },
      FINISH,
    ]),
  )
  const draft = newDraft()
  for (const part of parts) addPart(draft, part)
  const foreign = { type: 'reasoning', text: 'Other', signature: 'c2ln', origin: 'anthropic' } as const
  const answer: AssistantBody = {
    role: 'assistant',
    content: [foreign, ...draft.content],
    calls: draft.calls.map((call) => ({
      ...call,
      input: {},
      digest: '',
      needsApproval: false,
      effects: 'none',
      parallel: false,
    })),
  }
  const image = { type: 'image', source: { mediaType: 'image/png', data: 'aGk=' } } as const
  const outcome = { callId: 'a', status: 'success', output: 'seen', images: [image] } as const
  const messages: MessageBody[] = [hello, answer, { role: 'tool', outcomes: [{ ...outcome, images: [image] }] }]
  const callOptionsSeen: LanguageModelV3CallOptions[] = []
  await partsOf(playing([FINISH], callOptionsSeen), { messages })
  await partsOf(playing([FINISH], callOptionsSeen), {
    messages,
    adjustments: { stripSignatures: true, textOnlyResults: true },
  })

  const call = { type: 'tool-call', toolCallId: 'a', toolName: 'look', input: {} }
  assert.deepEqual(callOptionsSeen[0]!.prompt, [
    { role: 'system', content: 'Be kind.' },
    { role: 'user', content: [{ type: 'text', text: 'Hello' }] },
    {
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 'Hm', providerOptions: { anthropic: { signature: 'sig' } } },
        { type: 'text', text: 'Hi', providerOptions: { openai: { itemId: 'msg_1' } } },
        { ...call, providerOptions: { google: { s: 'x' } } },
      ],
    },
    {
      role: 'tool',
      content: [
        {
          type: 'tool-result',
          toolCallId: 'a',
          toolName: 'look',
          output: {
            type: 'content',
            value: [
              { type: 'text', text: 'seen' },
              { type: 'image-data', mediaType: 'image/png', data: 'aGk=' },
            ],
          },
        },
      ],
    },
  ])
  assert.deepEqual(callOptionsSeen[1]!.prompt[2], { role: 'assistant', content: [{ type: 'text', text: 'Hi' }, call] })
})

test('tools, schema, output limit and files reach the model in the format of the SDK', async () => {
  const callOptionsSeen: LanguageModelV3CallOptions[] = []
  const inputSchema = { type: 'object', properties: { url: { type: 'string', format: 'uri' } } }
  await partsOf(playing([FINISH], callOptionsSeen), {
    system: '',
    messages: [
      { role: 'user', content: [{ type: 'image', source: { url: 'https://example.com/a.png' } }], name: 'Ada' },
    ],
    tools: [{ name: 'open', description: 'Opens.', inputSchema }],
    outputCap: 50,
    settings: { responseFormat: { type: 'json-schema', name: 'answer', schema: { type: 'object' } } },
    adjustments: { relaxSchemas: true },
  })
  const { abortSignal: _, ...call } = callOptionsSeen[0]!
  assert.deepEqual(call, {
    prompt: [
      {
        role: 'user',
        content: [
          { type: 'text', text: '[Message from Ada]' },
          { type: 'file', mediaType: 'image/*', data: new URL('https://example.com/a.png') },
        ],
      },
    ],
    maxOutputTokens: 50,
    responseFormat: { type: 'json', name: 'answer', schema: { type: 'object' } },
    tools: [
      {
        type: 'function',
        name: 'open',
        description: 'Opens.',
        inputSchema: { type: 'object', properties: { url: { type: 'string' } } },
      },
    ],
    toolChoice: { type: 'auto' },
  })
})

const CUT_CALL = {
  callId: 'call-1',
  tool: 'say',
  input: { 'cut \ud83e': 'cut \ud83e' },
  digest: '',
  ...({ needsApproval: false, effects: 'none', parallel: true } as const),
}

test('a lone surrogate in the history does not make every request of its conversation invalid JSON', async () => {
  const callOptionsSeen: LanguageModelV3CallOptions[] = []
  await partsOf(playing([FINISH], callOptionsSeen), {
    system: 'cut \ud83e',
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'owl 🦉, cut \ud83e' }] },
      { role: 'assistant', content: [{ type: 'text', text: 'cut \ud83e' }], calls: [CUT_CALL] },
      { role: 'tool', outcomes: [{ callId: 'call-1', status: 'success', output: 'cut \ud83e' }] },
    ],
  })
  const sent = JSON.stringify(callOptionsSeen[0]!.prompt)
  assert.match(sent, /owl 🦉, cut \ufffd/)
  assert.doesNotMatch(sent, /\\ud/)
})

test('a rejected request is classified by its status, headers and body, and is not retried', async () => {
  const refusals: Refusal[] = []
  let callOptionsSeen = 0
  const model = modelOf(async () => {
    callOptionsSeen++
    throw new APICallError({
      message: 'Too many',
      url: 'https://example.com',
      requestBodyValues: {},
      statusCode: 429,
      responseHeaders: { 'Retry-After': '7' },
      responseBody: '{"error":"slow"}',
      isRetryable: true,
    })
  })
  assert.deepEqual(await partsOf(model, {}, options(refusals)), [
    { type: 'failure', failure: { kind: 'rate-limited', detail: 'slow down' } },
  ])
  assert.equal(callOptionsSeen, 1)
  const expected = { provider: 'sdk', model: 'some-model', status: 429, headers: { 'retry-after': '7' } }
  assert.deepEqual(refusals, [{ ...expected, body: '{"error":"slow"}' }])
})

test('an error in mid-stream, an unfinished stream and a filtered answer are distinct failures', async () => {
  const say: LanguageModelV3StreamPart = { type: 'text-delta', id: 't', delta: 'Hi' }
  const ending = async (part: LanguageModelV3StreamPart) => {
    const last = (await partsOf(playing([say, part, say]))).at(-1)!
    if (last.type !== 'failure') return last.type
    return [last.failure.kind, last.failure.mayHaveBeenAccepted]
  }
  assert.deepEqual(await ending({ type: 'error', error: { type: 'overloaded_error' } }), ['rate-limited', true])
  assert.deepEqual(await ending({ type: 'error', error: new Error('socket') }), ['unreachable', true])
  const filtered = { unified: 'content-filter', raw: 'SAFETY' } as const
  assert.deepEqual(await ending({ type: 'finish', usage, finishReason: filtered }), ['content-refused', true])
  const cut = { unified: 'other', raw: undefined } as const
  assert.equal(await ending({ type: 'finish', usage, finishReason: cut }), 'text-delta')
})

test('errors thrown by the SDK or by the model lookup become failure parts', async () => {
  const kindOf = async (error: unknown) => {
    const [part] = await partsOf(modelOf(() => Promise.reject(error)))
    return part?.type === 'failure' ? part.failure.kind : part?.type
  }
  assert.equal(await kindOf(new LoadAPIKeyError({ message: 'no key' })), 'auth-rejected')
  assert.equal(await kindOf(new TypeError('fetch failed')), 'unreachable')
  assert.equal(await kindOf('a text'), 'rate-limited')

  const provider = aiSdkProvider(() => {
    throw new Error('no such client')
  }, options())
  const [part] = await all(provider.stream(request, { signal: AbortSignal.timeout(10_000) }))
  assert.equal(part?.type, 'failure')
})

test('a silent model times out, whether or not it reacts to its signal', {
  timeout: 10_000,
}, async () => {
  const set = (deadlines: NonNullable<AiSdkOptions['deadlines']>): AiSdkOptions => ({ ...options(), deadlines })
  const deaf = modelOf(() => new Promise(() => {}))
  const [first] = await partsOf(deaf, {}, set({ firstByteMs: 30 }))
  assert.equal(first?.type === 'failure' && first.failure.kind, 'timeout')

  const stalls = modelOf(async () => ({
    stream: new ReadableStream<LanguageModelV3StreamPart>({
      start: (controller) => controller.enqueue({ type: 'text-delta', id: 't', delta: 'Hi' }),
    }),
  }))
  const last = (await partsOf(stalls, {}, set({ stallMs: 30 }))).at(-1)
  assert.equal(last?.type === 'failure' && last.failure.kind, 'stalled')
})

test('a real model of the SDK streams over HTTP, and an abort closes its connection', { timeout: 20_000 }, async () => {
  const closed = Promise.withResolvers<void>()
  await using server = await serve((_, response) => {
    response.on('close', () => closed.resolve())
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: {"type":"text-delta","id":"t","delta":"Hi"}\n\n')
  })
  const model = createGateway({ baseURL: server.url, apiKey: 'a-key' })('vendor/model') as LanguageModelV3
  const controller = new AbortController()
  const provider = aiSdkProvider(() => model, options())
  const parts: Part[] = []
  for await (const part of provider.stream(request, { signal: controller.signal })) {
    parts.push(part)
    controller.abort()
  }
  assert.deepEqual(parts, [{ type: 'text-delta', text: 'Hi' }])
  await closed.promise
})

test('a reader that stops early closes the connection of the model', { timeout: 20_000 }, async () => {
  const closed = Promise.withResolvers<void>()
  await using server = await serve((_, response) => {
    response.on('close', () => closed.resolve())
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: {"type":"text-delta","id":"t","delta":"Hi"}\n\n')
  })
  const model = createGateway({ baseURL: server.url, apiKey: 'a-key' })('vendor/model') as LanguageModelV3
  const provider = aiSdkProvider(() => model, options())
  for await (const _ of provider.stream(request, { signal: new AbortController().signal })) break
  await closed.promise
})

test('a model is aborted when its reader stops, and no listener stays on the signal', async () => {
  const callOptionsSeen: LanguageModelV3CallOptions[] = []
  const { signal } = new AbortController()
  const model = playing([{ type: 'text-delta', id: 't', delta: 'Hi' }, FINISH], callOptionsSeen)
  for await (const _ of aiSdkProvider(() => model, options()).stream(request, { signal })) break
  assert.ok(callOptionsSeen[0]!.abortSignal!.aborted)
  assert.deepEqual(getEventListeners(signal, 'abort'), [])
})

async function serve(listener: RequestListener) {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const list: Item[] = []
  for await (const item of items) list.push(item)
  return list
}
