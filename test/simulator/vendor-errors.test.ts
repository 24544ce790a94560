import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ERROR_NAMES } from '../../src/simulator/error-table.ts'
import { post, simulatorFixture } from './fixture-simulator.ts'

const PATHS = {
  openai: ['/v1/chat/completions', '/chat/completions', '/v1/responses'],
  anthropic: ['/v1/messages'],
  gemini: ['/v1beta/models/m:streamGenerateContent', '/v1beta/models/m:generateContent'],
}

type Body = { type?: string; error: Record<string, unknown> }

const HAS_SHAPE: Record<keyof typeof PATHS, (body: Body, status: number) => void> = {
  openai: ({ error }) => assert.equal(typeof error.message, 'string'),
  anthropic: ({ error }) => assert.equal(typeof error.message, 'string'),
  gemini: ({ error }, status) => {
    assert.equal(error.code, status)
    assert.match(String(error.status), /^[A-Z_]+$/)
  },
}

for (const name of ERROR_NAMES)
  test(`"${name}" has the format of each protocol`, async (context) => {
    const simulator = await simulatorFixture(context, { script: [{ answer: { error: name } }] })
    for (const family of ['openai', 'anthropic', 'gemini'] as const)
      for (const path of PATHS[family]) {
        const response = await post(simulator.url + path, { model: 'm', stream: true })
        const text = await response.text()
        assert.doesNotMatch(text, /\{(model|limit|above)\}|undefined/)
        if (name.startsWith('html')) assert.match(response.headers.get('content-type') ?? '', /html/)
        else HAS_SHAPE[family](JSON.parse(text) as Body, response.status)
        if (!name.endsWith('-200')) assert.ok(response.status >= 400)
      }
  })

test('message, status, headers and limit of an error can be changed', async (context) => {
  const simulator = await simulatorFixture(context, {
    script: [
      { times: 1, answer: { error: 'context-overflow-with-window', limit: 32000 } },
      { answer: { error: 'server-error', status: 529, message: 'no', headers: { 'x-should-retry': 'false' } } },
    ],
  })
  const overflow = await post(`${simulator.url}/v1/messages`, { model: 'm' })
  assert.match(await overflow.text(), /> 32000 maximum/)
  const changed = await post(`${simulator.url}/v1/messages`, { model: 'm' })
  assert.deepEqual([changed.status, changed.headers.get('x-should-retry')], [529, 'false'])
  assert.equal(((await changed.json()) as Body).error.message, 'no')
})

test('any HTTP response can be scripted', async (context) => {
  const answer = { status: 418, headers: { 'x-teapot': 'yes' }, body: 'short and stout' }
  const simulator = await simulatorFixture(context, { script: [{ answer }] })
  const response = await post(`${simulator.url}/v1/messages`, {})
  assert.deepEqual(
    [response.status, response.headers.get('x-teapot'), await response.text()],
    [418, 'yes', answer.body],
  )
})

test('an error inside a stream is framed as each vendor frames it', async (context) => {
  const breaks = { how: 'error-event', error: 'server-error', afterChunks: 2 } as const
  const simulator = await simulatorFixture(context, { script: [{ answer: { text: 'So', breaks } }] })
  const lastEvent = async (path: string) => {
    const text = await (await post(simulator.url + path, { model: 'm', stream: true })).text()
    return text
      .trimEnd()
      .split(/\r?\n\r?\n/)
      .at(-1)!
  }
  assert.match(await lastEvent('/v1/chat/completions'), /^data: \{"error":\{"message":/)
  assert.match(await lastEvent('/v1/messages'), /^event: error\ndata: \{"type":"error","error":\{"type":"api_error"/)
  assert.match(await lastEvent('/v1/responses'), /^event: error\ndata: \{"type":"error","code":"server_error"/)
  assert.match(await lastEvent('/v1beta/models/m:streamGenerateContent?alt=sse'), /^data: \{"error":\{"code":500/)
  simulator.script({ answer: { text: 'So', breaks: { ...breaks, as: 'failed' } } })
  assert.match(await lastEvent('/v1/responses'), /^event: response.failed\n.*"status":"failed"/)
})

test('a body that is not JSON is a bad request', async (context) => {
  const simulator = await simulatorFixture(context)
  const response = await fetch(`${simulator.url}/v1/messages`, { method: 'POST', body: '{"model":' })
  assert.equal(response.status, 400)
  assert.equal(simulator.requests[0]?.body, '{"model":')
})
