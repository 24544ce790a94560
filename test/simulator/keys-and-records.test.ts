import assert from 'node:assert/strict'
import { test } from 'node:test'
import { askChat, post, simulatorFixture } from './fixture-simulator.ts'

test('every key is accepted until one is known; then unknown keys are refused', async (context) => {
  const simulator = await simulatorFixture(context)
  assert.equal((await askChat(simulator, { key: 'any' })).status, 200)
  simulator.keys.set('known', 'valid')
  assert.equal((await askChat(simulator, { key: 'any' })).status, 401)
  assert.equal((await askChat(simulator)).status, 401)
  assert.equal((await askChat(simulator, { key: 'known' })).status, 200)
})

test('the response depends on the state of the key, which can change at runtime', async (context) => {
  const simulator = await simulatorFixture(context, {
    keys: { a: 'valid', b: 'revoked', c: 'out-of-credit', d: 'limited' },
  })
  const codeOf = async (key: string) => {
    const response = await askChat(simulator, { key, stream: false })
    return [response.status, ((await response.json()) as { error?: { code: string } }).error?.code]
  }
  assert.deepEqual(await codeOf('a'), [200, undefined])
  assert.deepEqual(await codeOf('b'), [401, 'token_revoked'])
  assert.deepEqual(await codeOf('c'), [429, 'insufficient_quota'])
  assert.deepEqual(await codeOf('d'), [429, 'rate_limit_exceeded'])
  simulator.keys.set('a', 'expired')
  simulator.keys.set('b', 'valid')
  assert.deepEqual(await codeOf('a'), [401, 'token_expired'])
  assert.deepEqual(await codeOf('b'), [200, undefined])
})

test('a limited key states when it is usable again, and then it is', async (context) => {
  const simulator = await simulatorFixture(context, { keys: { a: { state: 'limited', until: Date.now() + 90_000 } } })
  const limited = await askChat(simulator, { key: 'a' })
  assert.equal(limited.status, 429)
  assert.ok(Number(limited.headers.get('retry-after')) > 60)
  simulator.keys.set('a', { state: 'limited', until: Date.now() - 1 })
  assert.equal((await askChat(simulator, { key: 'a' })).status, 200)
})

test('a refused key uses up no rule', async (context) => {
  const simulator = await simulatorFixture(context, {
    keys: { a: 'valid' },
    script: [{ times: 1, answer: { status: 418 } }],
  })
  assert.equal((await askChat(simulator, { key: 'wrong' })).status, 401)
  assert.equal((await askChat(simulator, { key: 'a' })).status, 418)
})

test('keys are found wherever a vendor puts them', async (context) => {
  const simulator = await simulatorFixture(context)
  const headers = [
    { authorization: 'Bearer k1' },
    { 'x-api-key': 'k2' },
    { 'api-key': 'k3' },
    { 'x-goog-api-key': 'k4' },
  ]
  for (const one of headers)
    await fetch(`${simulator.url}/v1/messages`, { method: 'POST', headers: one as never, body: '{}' })
  await fetch(`${simulator.url}/v1beta/models/m:generateContent?key=k5`, { method: 'POST', body: '{}' })
  assert.deepEqual(
    simulator.requests.map(({ key }) => key),
    ['k1', 'k2', 'k3', 'k4', 'k5'],
  )
})

test('every request is recorded in order, with key, body, path and ending', async (context) => {
  const simulator = await simulatorFixture(context)
  await (await post(`${simulator.url}/vendor/v1/messages?beta=true`, { model: 'm', messages: [] }, { key: 'k' })).text()
  await (await fetch(`${simulator.url}/nothing/here`)).text()
  await simulator.waitForClosed(2)
  const [first, second] = simulator.requests
  assert.deepEqual(
    { ...first, headers: undefined, arrivedAt: undefined, ended: first?.ended?.how },
    {
      number: 1,
      method: 'POST',
      path: '/vendor/v1/messages?beta=true',
      headers: undefined,
      key: 'k',
      body: { model: 'm', messages: [] },
      protocol: 'anthropic',
      model: 'm',
      arrivedAt: undefined,
      status: 200,
      ended: 'answered',
    },
  )
  assert.equal(first?.headers['content-type'], 'application/json')
  assert.deepEqual([second?.protocol, second?.status], ['unknown', 404])
})

test('a wait that times out names what it waited for', async (context) => {
  const simulator = await simulatorFixture(context)
  await assert.rejects(simulator.waitForRequests(3, { withinMs: 10 }), /request 3 did not happen within 10 ms/)
  await assert.rejects(simulator.waitForClosed(1, { withinMs: 10 }), /the end of request 1/)
})

test('a reset restores script, keys, records and tokens', async (context) => {
  const simulator = await simulatorFixture(context, {
    keys: { a: 'valid' },
    script: [{ times: 1, answer: { status: 418 } }],
  })
  await askChat(simulator, { key: 'a' })
  simulator.keys.set('a', 'revoked')
  simulator.oauth.issue()
  simulator.reset()
  assert.equal(simulator.requests.length, 0)
  assert.equal((await askChat(simulator, { key: 'a' })).status, 418)
  assert.equal(simulator.oauth.issue().access_token, 'access-1')
})

test('the same requests get the same answers, byte by byte', async (context) => {
  const answer = { text: 'Hello there.', calls: [{ name: 'a' }], reasoning: { text: 'hm', signature: 's' } }
  const said = async () => {
    const simulator = await simulatorFixture(context, { script: [{ answer }] })
    const paths = ['/v1/chat/completions', '/v1/responses', '/v1/messages', '/v1beta/models/m:streamGenerateContent']
    const bodies: string[] = []
    for (const path of paths) bodies.push(await (await post(simulator.url + path, { model: 'm', stream: true })).text())
    return bodies
  }
  assert.deepEqual(await said(), await said())
})
