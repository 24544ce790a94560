import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defined } from '../../src/core/defined.ts'
import { askChat, simulatorFixture } from './fixture-simulator.ts'

const send = async (url: string, method: string, body?: string) => {
  const response = await fetch(url, { method, ...defined({ body }) })
  return { status: response.status, body: (await response.json()) as { done?: boolean; reasons?: string[] } }
}

test('keys and script can be changed over HTTP', async (context) => {
  const simulator = await simulatorFixture(context, { keys: { 'sk-a': 'valid' } })
  assert.equal((await askChat(simulator, { key: 'sk-a' })).status, 200)
  await send(`${simulator.url}/simulator/keys/sk-a`, 'PUT', 'revoked')
  assert.equal((await askChat(simulator, { key: 'sk-a' })).status, 401)
  await send(`${simulator.url}/simulator/keys/sk-a`, 'PUT', 'valid\n')
  await send(`${simulator.url}/simulator/script`, 'PUT', '[{ "answer": { "status": 418 } }]')
  assert.equal((await askChat(simulator, { key: 'sk-a' })).status, 418)
  await send(`${simulator.url}/simulator/reset`, 'POST')
  assert.equal((await askChat(simulator, { key: 'sk-a' })).status, 200)
})

test('an invalid control request changes nothing and names the valid ones', async (context) => {
  const simulator = await simulatorFixture(context, { script: [{ answer: { status: 418 } }] })
  const script = await send(`${simulator.url}/simulator/script`, 'PUT', '[{ "answer": { "status": "x" } }]')
  assert.equal(script.status, 422)
  assert.match(script.body.reasons![0]!, /script\[0\]\.answer\.status: expected a whole number/)
  assert.match((await send(`${simulator.url}/simulator/keys/a`, 'PUT', 'gone')).body.reasons![0]!, /valid, revoked/)
  assert.match((await send(`${simulator.url}/simulator/fly`, 'POST')).body.reasons!.join(), /POST \/simulator\/reset/)
  assert.equal((await askChat(simulator)).status, 418)
})

test('recorded requests can be read, without keys', async (context) => {
  const simulator = await simulatorFixture(context)
  await (await askChat(simulator, { key: 'sk-secret', text: 'Hello' })).text()
  await simulator.waitForClosed(1)
  const output = await (await fetch(`${simulator.url}/simulator/requests`)).text()
  assert.match(output, /"content": "Hello"/)
  assert.doesNotMatch(output, /sk-secret/)
  assert.equal(simulator.requests.length, 1)
})

test('the simulator can be taken down for a while over HTTP', async (context) => {
  const simulator = await simulatorFixture(context)
  const closing = askChat(simulator, { text: 'before' })
  assert.equal((await closing).status, 200)
  assert.equal((await send(`${simulator.url}/simulator/down?forMs=60000`, 'POST')).status, 200)
  await assert.rejects(async () => {
    for (;;) await (await askChat(simulator)).text()
  })
  await simulator.comeBack()
  assert.equal((await askChat(simulator)).status, 200)
})
