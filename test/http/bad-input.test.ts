import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { request } from 'node:http'
import { test } from 'node:test'
import { newHome, startHoldfast } from '../cli/holdfast.ts'
import { KEY, serveFor } from './fixture-server-process.ts'
import { sendIn, type WireValue } from './send-modes.ts'

test('an invalid request gets a 4xx that says what is wrong and where, and leaves no run behind', async (t) => {
  const { agentId, client, fetch } = await serveFor(t)
  const path = `/v1/agents/${agentId}/messages`
  const post = (body: string | Uint8Array<ArrayBuffer>, to = path) => fetch(to, { method: 'POST', body })
  const deep = `{"input":${'['.repeat(500)}${']'.repeat(500)}}`
  const json = (body: unknown) => JSON.stringify(body)
  const user = { role: 'user', content: 'hi' }
  const cases: [name: string, status: number, body: string | Uint8Array<ArrayBuffer>, to?: string][] = [
    ['no JSON', 422, '{"input": '],
    ['no UTF-8', 422, new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x7d])],
    ['nested deeply', 422, deep],
    ['a list', 422, '[]'],
    ['nothing', 422, json({})],
    ['no body', 422, ''],
    ['both', 422, json({ input: 'hi', messages: [user] })],
    ['no message', 422, json({ messages: [] })],
    ['an empty message', 422, json({ messages: [{ role: 'user', content: '  ' }] })],
    ['a wrong type', 422, json({ messages: 'hi' })],
    ['an unknown role', 422, json({ messages: [{ role: 'robot', content: 'hi' }] })],
    ['an unknown part', 422, json({ messages: [{ role: 'user', content: [{ type: 'video' }] }] })],
    ['a second approval', 422, json({ messages: [user, { type: 'approval', approve: true }] })],
    ['steps that are none', 422, json({ input: 'hi', max_steps: 0 })],
    ['tokens without a stream', 422, json({ input: 'hi', stream_tokens: true })],
    ['an id of another kind', 422, json({ input: 'hi' }), '/v1/agents/run-1/messages'],
    ['an agent that is not there', 404, json({ input: 'hi' }), `/v1/agents/agent-${crypto.randomUUID()}/messages`],
    ['a run that is not there', 404, json({}), `/v1/runs/run-${crypto.randomUUID()}/stream`],
    ['a run that is none', 400, json({}), '/v1/runs/agent-1/stream'],
    ['a wrong cursor', 422, json({ starting_after: -1 }), `/v1/runs/run-${crypto.randomUUID()}/stream`],
  ]
  for (const [name, status, body, to] of cases) {
    const response = await post(body, to)
    const answer = (await response.json()) as { detail: string }
    if (name !== 'a wrong cursor') assert.equal(response.status, status, `${name}: ${JSON.stringify(answer)}`)
    else assert.ok(response.status === 422 || response.status === 404)
    assert.equal(typeof answer.detail, 'string', name)
    assert.doesNotMatch(JSON.stringify(answer), /node_modules|\/src\/|at \w+ \(/, name)
  }
  const text = await fetch(path, {
    method: 'POST',
    body: json({ input: 'hi' }),
    headers: { 'content-type': 'text/plain' },
  })
  assert.equal(text.status, 415)
  assert.match(
    await (await post(json({ messages: [{ role: 'robot', content: 'hi' }] }))).text(),
    /body\.messages\.0\.role/,
  )
  assert.deepEqual((await client.runs.list()).getPaginatedItems(), [])
  // Unknown fields of newer clients are not an error.
  assert.equal(
    (await post(json({ input: 'hi', brand_new: { field: true }, __proto__: { polluted: true } }))).status,
    200,
  )
})

test('without a key only the health check answers; paths work with and without a trailing slash', async (t) => {
  const { fetch, agentId, url } = await serveFor(t)
  const paths = [`/v1/agents/${agentId}/messages`, '/v1/runs/', '/v1/runs', '/metrics', '/nowhere', '/v1/steps/']
  for (const path of paths)
    for (const key of ['', 'wrong', `${KEY}x`, KEY.slice(1)]) {
      const response = await fetch(path, { key })
      assert.equal(response.status, 401, `${path} with "${key}"`)
      assert.deepEqual(await response.json(), { detail: 'Unauthorized' })
    }
  for (const path of ['/v1/health', '/v1/health/', '/v1/ready', '/v1/ready/']) {
    const response = await globalThis.fetch(`${url()}${path}`)
    assert.equal(response.status, 200)
    assert.equal(((await response.json()) as WireValue).status, 'ok')
  }
  for (const path of ['/v1/runs/', '/v1/runs']) assert.equal((await fetch(path)).status, 200)
  assert.deepEqual(await (await fetch('/nowhere')).json(), { detail: 'Not Found' })
  const later = await fetch('/v1/templates/', { method: 'POST', body: '{}' })
  assert.equal(later.status, 501)
  assert.match(((await later.json()) as WireValue).detail, /does not serve this yet/)
})

test('a foreign web page cannot make a browser use this server', async (t) => {
  const { url } = await serveFor(t)
  const ask = (headers: Record<string, string>) =>
    new Promise<number>((resolve, reject) => {
      const sent = request(`${url()}/v1/health`, { headers }, (response) => {
        response.resume()
        resolve(response.statusCode ?? 0)
      })
      sent.on('error', reject).end()
    })
  assert.equal(await ask({ host: 'evil.test' }), 403)
  assert.equal(await ask({ host: '127.0.0.1.evil.test' }), 403)
  assert.equal(await ask({ origin: 'https://evil.test' }), 403)
  assert.equal(await ask({ origin: 'null' }), 403)
  assert.equal(await ask({ origin: 'http://localhost:3000' }), 200)
  assert.equal(await ask({ host: 'localhost:1' }), 200)
})

test('metrics count ended runs and failed attempts', async (t) => {
  const { client, agentId, simulator, fetch } = await serveFor(t)
  simulator.script({ when: { attempt: 1 }, answer: { error: 'server-error' } }, { answer: { text: 'Better.' } })
  await sendIn('step stream', client, { agentId, body: { input: 'hi' } })
  const page = await (await fetch('/metrics')).text()
  assert.match(page, /holdfast_runs_ended_total\{stop_reason="end_turn"\} 1/)
  assert.match(page, /holdfast_attempts_failed_total\{kind="server-error",remedy="[a-z-]+"\} 1/)
  assert.match(page, /holdfast_streams_open 0/)
  assert.match(page, /holdfast_http_requests_total\{route="POST \/v1\/agents\/:agent_id\/messages",status="200"\} 1/)
  assert.match(page, /holdfast_event_loop_delay_seconds\{quantile="0.99"\}/)
})

test('the first start creates a key file that only its owner can read, shows the key once, and never logs it', async (t) => {
  const home = newHome(t)
  const first = startHoldfast(['serve', '--port', '0'], { home })
  await first.waitForText('Try it:')
  const file = `${home}/api-key`
  const key = readFileSync(file, 'utf8').trim()
  assert.equal(statSync(file).mode & 0o777, 0o600)
  first.child.kill('SIGTERM')
  const { code, stdout } = await first.ended
  assert.equal(code, 0)
  assert.equal(stdout.split(key).length, 2)

  const second = startHoldfast(['serve', '--port', '0', '--access-log'], { home })
  let output = ''
  second.child.stdout.on('data', (text) => {
    output += text
  })
  await second.waitForText('Try it:')
  const url = /http:\/\/127\.0\.0\.1:\d+/.exec(output)?.[0]
  const headers = { authorization: `Bearer ${key}`, 'user-agent': key }
  assert.equal((await fetch(`${url}/v1/runs/?key=${key}`, { headers })).status, 200)
  await second.waitForText('/v1/runs/?key=[secret]')
  second.child.kill('SIGINT')
  const again = await second.ended
  assert.equal(again.code, 0)
  assert.ok(!again.stdout.includes(key) && !again.stderr.includes(key))
})

test('a body over the limit is refused before it is read', async (t) => {
  const { url, agentId } = await serveFor(t)
  const headers = {
    authorization: `Bearer ${KEY}`,
    'content-type': 'application/json',
    'content-length': 11 * 1024 * 1024,
  }
  const status = await new Promise((resolve, reject) => {
    const sent = request(`${url()}/v1/agents/${agentId}/messages`, { method: 'POST', headers }, (response) => {
      response.resume()
      resolve(response.statusCode)
      sent.destroy()
    })
    sent.on('error', reject).flushHeaders()
  })
  assert.equal(status, 413)
})

test('a server does not listen on a public address with a short key', async (t) => {
  const started = startHoldfast(['serve', '--host', '0.0.0.0', '--port', '0'], {
    home: newHome(t),
    environment: { HOLDFAST_API_KEY: 'short' },
  })
  const ended = await started.ended
  assert.equal(ended.code, 2)
  assert.match(ended.stderr, /at least 32 characters/)
})
