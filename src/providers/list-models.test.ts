import assert from 'node:assert/strict'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import type { HttpDialect } from '../core/message.ts'
import type { Grant } from '../ports/credentials.ts'
import { WIRE_DIALECTS } from './dialects.ts'
import { listModels } from './list-models.ts'

type Seen = { url: string; headers: IncomingHttpHeaders }

/** Answers each request with the next body; the last body repeats. */
async function serve(context: TestContext, ...bodies: unknown[]): Promise<{ url: string; seen: Seen[] }> {
  const seen: Seen[] = []
  const server = createServer((request, response) => {
    const body = bodies[Math.min(seen.length, bodies.length - 1)]
    seen.push({ url: request.url ?? '', headers: request.headers })
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  context.after(() => server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen }
}

const grant: Grant = { credentialId: 'credential-a', secret: 'sk-a', kind: 'api-key' }

const ask = async (baseUrl: string, { dialect }: { dialect: HttpDialect } = { dialect: 'openai-chat' }) => {
  const { models: listing } = await WIRE_DIALECTS[dialect].load()
  return listModels({ provider: 'p', listing, baseUrl, quirks: {}, grant, signal: new AbortController().signal })
}

test('context windows, output limits and prices are read from the field names of each vendor', async (context) => {
  const { url, seen } = await serve(context, {
    data: [
      {
        id: 'anthropic/claude-sonnet-4.5',
        context_length: 1_000_000,
        top_provider: { max_completion_tokens: 64_000 },
        pricing: { prompt: '0.000003', completion: '0.000015', input_cache_read: '0.0000003' },
      },
      { id: 'qwen', max_model_len: 32_768 },
      { id: 'llama', context_window: 131_072, max_completion_tokens: 8_192 },
      { id: 'auto', pricing: { prompt: '-1', completion: '-1' } },
      { object: 'no model' },
      'nor this',
    ],
  })
  const list = await ask(`${url}/v1/`)
  assert.deepEqual(list, {
    type: 'models',
    models: [
      {
        model: 'anthropic/claude-sonnet-4.5',
        window: 1_000_000,
        maxOutput: 64_000,
        price: { input: 3, output: 15, cachedInput: 0.3, asOf: 'stated' },
      },
      { model: 'qwen', window: 32_768 },
      { model: 'llama', window: 131_072, maxOutput: 8_192 },
      { model: 'auto' },
    ],
  })
  assert.deepEqual([seen[0]!.url, seen[0]!.headers.authorization], ['/v1/models', 'Bearer sk-a'])
})

test('a bare array is a list, and pagination requests every page of a long list', async (context) => {
  const bare = await serve(context, [{ id: 'together/one' }])
  assert.deepEqual(await ask(bare.url), { type: 'models', models: [{ model: 'together/one' }] })

  const claude = await serve(
    context,
    { data: [{ id: 'one', max_input_tokens: 200_000, max_tokens: 64_000 }], has_more: true, last_id: 'one' },
    { data: [{ id: 'two' }], has_more: false, last_id: 'two' },
  )
  const list = await ask(claude.url, { dialect: 'anthropic' })
  assert.deepEqual(list, {
    type: 'models',
    models: [{ model: 'one', window: 200_000, maxOutput: 64_000 }, { model: 'two' }],
  })
  assert.deepEqual(
    claude.seen.map(({ url }) => url),
    ['/v1/models?limit=1000', '/v1/models?limit=1000&after_id=one'],
  )
  assert.deepEqual(
    [claude.seen[0]!.headers['x-api-key'], claude.seen[0]!.headers['anthropic-version']],
    ['sk-a', '2023-06-01'],
  )
})

test('models that do not generate text are not listed', async (context) => {
  const { url, seen } = await serve(
    context,
    {
      models: [
        { name: 'models/gemini-2.5-pro', inputTokenLimit: 1_048_576, supportedGenerationMethods: ['generateContent'] },
        { name: 'models/embedding-001', supportedGenerationMethods: ['embedContent'] },
      ],
      nextPageToken: 'more',
    },
    { models: [{ name: 'models/gemini-flash' }] },
  )
  const list = await ask(url, { dialect: 'gemini' })
  assert.deepEqual(list, {
    type: 'models',
    models: [{ model: 'gemini-2.5-pro', window: 1_048_576 }, { model: 'gemini-flash' }],
  })
  assert.equal(seen[1]!.url, '/v1beta/models?pageSize=1000&pageToken=more')
  assert.equal(seen[0]!.headers['x-goog-api-key'], 'sk-a')
})

test('a response that is not a list, an invalid URL and a broken connection are failures, never exceptions', async (context) => {
  const kindOf = async (...parameters: Parameters<typeof ask>) => {
    const list = await ask(...parameters)
    return list.type === 'failure' ? list.failure.kind : list.type
  }
  assert.equal(await kindOf((await serve(context, '<html>hello</html>')).url), 'malformed-answer')
  assert.equal(await kindOf((await serve(context, { data: 'none' })).url), 'malformed-answer')
  assert.equal(await kindOf('http://127.0.0.1:9'), 'unreachable')
  assert.equal(await kindOf('no address'), 'unreachable')
})
