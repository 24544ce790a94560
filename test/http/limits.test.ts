import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { realClock as clock } from '../../src/config/real-clock.ts'
import { success } from '../../src/tools/define-tool.ts'
import { gate, tool } from '../harness/tools.ts'
import { requestOf, serveKeyed } from './fixture-keyed-server.ts'
import { KEY } from './fixture-server-process.ts'

const soon = () => clock.sleep(10, new AbortController().signal)

test('a body that is too large or too deep is refused with a reason and creates nothing', async (context) => {
  const { as } = await serveKeyed(context, { limits: { bodyBytes: 2048, jsonDepth: 8 } })
  const block = (value: unknown) => ({ label: 'l', value: 'v', metadata: value })
  const large = await as()('POST', '/v1/blocks', block({ text: 'x'.repeat(3000) }))
  assert.deepEqual(
    [large.status, large.body],
    [413, { detail: 'The body is larger than 2048 bytes (limits.body_bytes).' }],
  )
  const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)])
  const deep = await as()('POST', '/v1/blocks', block({ deep: nested(8) }))
  assert.equal(deep.status, 422)
  assert.match((deep.body as { detail: string }).detail, /deeper than 8 levels/)
  assert.equal((await as()('POST', '/v1/blocks', block({ deep: nested(5) }))).status, 200)
  assert.equal(((await as()('GET', '/v1/blocks')).body as unknown[]).length, 1)
})

test('a key over its rate limit gets 429 with retry-after; other keys are not affected', async (context) => {
  const { as, makeKey } = await serveKeyed(context, { limits: { requestsPerSecond: 2 } })
  const [one, other] = [await makeKey({ scope: 'read' }), await makeKey({ scope: 'read' })]
  const statuses: number[] = []
  for (let count = 0; count < 8; count++) {
    const { status, headers } = await as(one.key)('GET', '/v1/agents')
    statuses.push(status)
    if (status === 429) assert.equal(headers.get('retry-after'), '1')
  }
  assert.deepEqual(statuses.slice(0, 4), [200, 200, 200, 200])
  assert.equal(statuses.at(-1), 429)
  assert.equal((await as(other.key)('GET', '/v1/agents')).status, 200)
  for (let count = 0; count < 20; count++) assert.equal((await as()('GET', '/v1/agents')).status, 200)
  while ((await as(one.key)('GET', '/v1/agents')).status === 429) await soon()
})

test('requests without a valid key are rate-limited by address, and valid keys at that address still work', async (context) => {
  const { as, makeKey } = await serveKeyed(context, { limits: { refusalsPerMinute: 5 } })
  const { key } = await makeKey({ scope: 'read' })
  const guesses: number[] = []
  for (let count = 0; count < 8; count++) guesses.push((await as(`guess-${count}`)('GET', '/v1/agents')).status)
  assert.deepEqual(guesses, [401, 401, 401, 401, 401, 429, 429, 429])
  const shaped = `${key.slice(0, 17)}${'0'.repeat(64)}`
  const last = await as(shaped)('GET', '/v1/agents')
  assert.equal(last.status, 429)
  assert.ok(Number(last.headers.get('retry-after')) > 0)
  for (const valid of [KEY, key]) assert.equal((await as(valid)('GET', '/v1/agents')).status, 200)
  const lines = (await as()('GET', '/v1/audit')).body as { outcome: string }[]
  assert.equal(lines.filter(({ outcome }) => outcome === 'refused').length, 5)
})

test('the running turns of a key and of an agent are limited, and ended turns no longer count', async (context) => {
  const gates = [gate(), gate(), gate(), gate()]
  context.after(() => {
    for (const one of gates) one.open()
  })
  let turn = 0
  const { as, makeKey, fixture, url } = await serveKeyed(context, {
    script: [{ calls: [{ tool: 'wait', input: {} }] }, { text: 'done' }],
    tools: [
      tool('wait', async () => {
        await gates[turn++]!.promise
        return success('waited')
      }),
    ],
    limits: { turnsPerKey: 1, turnsPerAgent: 2 },
  })
  const newAgent = async (name: string) => {
    const body = { name, model: 'test/model', tools: ['wait'] }
    return ((await as()('POST', '/v1/agents', body)).body as { id: string }).id
  }
  const [one, other] = [await newAgent('one'), await newAgent('other')]
  const keys = await Promise.all([1, 2, 3].map(() => makeKey({ scope: 'agent' })))
  const send = (key: string, agent: string) => as(key)('POST', `/v1/agents/${agent}/messages/async`, { input: 'hi' })
  const running = async (count: number) => {
    while (fixture.context.engine!.dispatcher.running().length !== count) await soon()
  }
  assert.equal((await send(keys[0]!.key, one)).status, 200)
  await running(1)
  const again = await send(keys[0]!.key, other)
  assert.equal(again.status, 429)
  assert.equal(again.headers.get('retry-after'), '1')
  assert.match((again.body as { detail: string }).detail, /This key has reached its limit of running turns \(1\)/)

  const conversation = (await as()('POST', `/v1/conversations?agent_id=${one}`, {})).body as { id: string }
  const path = `${url}/v1/conversations/${conversation.id}/messages`
  const second = await fetch(path, { method: 'POST', ...requestOf(keys[1]!.key, { input: 'hi' }) })
  assert.equal(second.status, 200)
  await running(2)
  const third = await send(keys[2]!.key, one)
  assert.equal(third.status, 429)
  assert.match((third.body as { detail: string }).detail, /This agent has reached its limit of running turns \(2\)/)
  assert.equal((await send(KEY, one)).status, 200, 'the key of the home has no such limit')

  for (const one of gates) one.open()
  await second.text()
  await running(0)
  assert.equal((await send(keys[0]!.key, other)).status, 200)
  await running(0)
})

test('the open requests of a key are limited', async (context) => {
  const stuck = gate()
  context.after(() => stuck.open())
  const { as, makeKey, fixture, url } = await serveKeyed(context, {
    script: [{ calls: [{ tool: 'wait', input: {} }] }, { text: 'done' }],
    tools: [tool('wait', () => stuck.promise.then(() => success('waited')))],
    limits: { openRequestsPerKey: 2 },
  })
  const { key } = await makeKey({ scope: 'read' })
  const runId = await fixture.send('hello')
  const leave = new AbortController()
  const open = () =>
    fetch(`${url}/v1/runs/${runId}/stream`, { method: 'POST', signal: leave.signal, ...requestOf(key, {}) })
  assert.deepEqual([(await open()).status, (await open()).status], [200, 200])
  const third = await open()
  assert.equal(third.status, 429)
  await third.text()
  leave.abort()
  while ((await as(key)('GET', '/v1/agents')).status === 429) await soon()
})

test('a request that arrives too slowly is cut off, and others are served', async (context) => {
  const { as, url } = await serveKeyed(context, { limits: { headersMs: 300, requestMs: 600 } })
  const { port } = new URL(url)
  const slow = (text: string) =>
    new Promise<string>((resolve) => {
      let received = ''
      const socket = connect(Number(port), '127.0.0.1', () => socket.write(text))
      socket.on('data', (bytes) => {
        received += bytes
      })
      socket.on('error', () => {})
      socket.on('close', () => resolve(received))
    })
  const head = `POST /v1/blocks HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${KEY}\r\n`
  const cut = [slow('GET /v1/agents HT'), slow(`${head}content-type: application/json\r\ncontent-length: 9\r\n\r\n{`)]
  assert.equal((await as()('GET', '/v1/agents')).status, 200)
  for (const answer of await Promise.all(cut)) assert.match(answer, /^HTTP\/1\.1 408/)
})

test('no route accepts a missing, wrong or revoked key', async (context) => {
  const { as, makeKey, url } = await serveKeyed(context, { limits: { refusalsPerMinute: 100_000 } })
  const revoked = await makeKey({ scope: 'admin' })
  await as()('DELETE', `/v1/keys/${revoked.id}`)
  const { paths } = (await as()('GET', '/openapi.json')).body as {
    paths: Record<string, Record<string, { security?: [] }>>
  }
  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { security }]) => ({ method, path, isOpen: security !== undefined })),
  )
  assert.deepEqual(all.flatMap(({ path, isOpen }) => (isOpen ? [path] : [])).sort(), OPEN)
  const routes = all.flatMap(({ method, path, isOpen }) => (isOpen ? [] : [[method, path]]))
  assert.ok(routes.length > 60, `${routes.length} routes`)
  const shown = [undefined, '', 'Bearer ', 'Bearer wrong', `Basic ${KEY}`, KEY, `Bearer ${revoked.key}`]
  for (const [method, path] of [...routes, ['get', '/metrics'], ['get', '/v1/nothing']]) {
    for (const authorization of shown) {
      const headers = authorization === undefined ? {} : { authorization }
      const { status } = await fetch(`${url}${path!.replaceAll(/\{[^}]+\}/g, 'x')}`, {
        method: method!.toUpperCase(),
        headers,
      })
      assert.equal(status, 401, `${method} ${path} with ${authorization}`)
    }
  }
})

/**
 * Probes, the page itself, signing out, and the description of the API need no key. A delivery to a hook is signed, and a
 * browser that returns from an authorization server brings the `state` that this home made.
 */
const OPEN = [
  '/',
  '/console/{file}',
  '/docs',
  '/openapi.json',
  '/v1/health',
  '/v1/hooks/{hook_id}',
  '/v1/mcp-servers/oauth/callback',
  '/v1/ready',
  '/v1/session',
]
