import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { realClock as clock } from '../../src/config/real-clock.ts'
import { serveKeyed } from './fixture-keyed-server.ts'
import { KEY } from './fixture-server-process.ts'

const soon = () => clock.sleep(10, new AbortController().signal)

async function stranger(context: TestContext, url: string): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  context.after(() => socket.destroy())
  socket.on('error', () => {})
  await once(socket, 'connect')
  return socket
}

/** A request on a connection that stays open. */
const asked = (agent: Agent, url: string, key: string) =>
  new Promise<number>((resolve, reject) => {
    const sent = request(`${url}/v1/agents`, { agent, headers: { authorization: `Bearer ${key}` } }, (answer) => {
      answer.resume()
      answer.once('end', () => resolve(answer.statusCode!))
    })
    sent.once('error', reject)
    sent.end()
  })

const keptAlive = (context: TestContext) => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  context.after(() => agent.destroy())
  return agent
}

test('a stranger who holds every connection locks nobody out who has a key, and loses the oldest ones', async (context) => {
  const { url, makeKey } = await serveKeyed(context, { limits: { connections: 30 } })
  const { key } = await makeKey({ scope: 'read' })
  const strangers: Socket[] = []
  for (let count = 0; count < 60; count++) strangers.push(await stranger(context, url))
  const [operator, tenant] = [keptAlive(context), keptAlive(context)]
  assert.equal(await asked(operator, url, KEY), 200)
  assert.equal(await asked(tenant, url, key), 200)
  for (let count = 0; count < 60; count++) strangers.push(await stranger(context, url))
  const kept = Object.values({ ...operator.freeSockets, ...tenant.freeSockets }).flat()
  assert.equal(await asked(operator, url, KEY), 200)
  assert.equal(await asked(tenant, url, key), 200)
  assert.ok(kept.length > 0 && kept.every((socket) => socket && !socket.destroyed), 'connections with a key are kept')
  while (strangers.filter(({ destroyed }) => !destroyed).length > 30) await soon()
})

test('a key that holds every connection locks the operator and other keys out no more than a stranger', async (context) => {
  const { url, makeKey } = await serveKeyed(context, { limits: { connections: 12 } })
  const { key } = await makeKey({ scope: 'read' })
  for (let count = 0; count < 20; count++) assert.equal(await asked(keptAlive(context), url, key), 200)
  const other = await makeKey({ scope: 'read' })
  assert.equal(await asked(keptAlive(context), url, KEY), 200)
  assert.equal(await asked(keptAlive(context), url, other.key), 200)
})

test('a connection without a key is closed after a few idle seconds, one with a key is not', async (context) => {
  const { url } = await serveKeyed(context)
  const operator = keptAlive(context)
  assert.equal(await asked(operator, url, KEY), 200)
  const idle = await stranger(context, url)
  const refused = await stranger(context, url)
  refused.write('GET /v1/agents HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n')
  refused.resume()
  idle.resume()
  const since = Date.now()
  await Promise.all([once(idle, 'close'), once(refused, 'close')])
  assert.ok(Date.now() - since < 15_000, 'sooner than the 20 s for headers and the 75 s of a kept connection')
  const [socket] = Object.values(operator.freeSockets).flat()
  assert.ok(socket && !socket.destroyed)
})

test('a path with broken escapes is a request without a key like any other, and is counted', async (context) => {
  const { url } = await serveKeyed(context, { limits: { refusalsPerMinute: 5 } })
  const statuses: number[] = []
  for (let count = 0; count < 8; count++) statuses.push((await fetch(`${url}/v1/agents/%ff`)).status)
  assert.deepEqual(statuses, [401, 401, 401, 401, 401, 429, 429, 429])
  const withKey = await fetch(`${url}/v1/agents/%ff`, { headers: { authorization: `Bearer ${KEY}` } })
  assert.ok(withKey.status >= 400 && withKey.status < 500, `${withKey.status}`)
})
