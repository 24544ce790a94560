import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { openApp } from '../../src/app.ts'
import { startServer } from '../../src/http/server.ts'
import { createAgent } from '../../src/service/agents/create-agent.ts'
import { newHome } from '../cli/holdfast.ts'
import { startPostgres } from '../harness/postgres.ts'
import { KEY } from './fixture-server-process.ts'

const auth = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }

/** A proxy to the database that can be cut. */
async function proxyTo(target: string) {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  let isAway = false
  const proxy = createServer((client) => {
    if (isAway) return client.destroy()
    const upstream = connect(Number(port), hostname)
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from)
      from.on('data', (data) => to.write(data))
      from.on('error', () => to.destroy())
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
    }
    return undefined
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const url = new URL(target)
  url.port = String((proxy.address() as AddressInfo).port)
  return {
    url: url.href,
    takeAway() {
      isAway = true
      for (const socket of sockets) socket.destroy()
    },
    bringBack() {
      isAway = false
    },
    close: () => proxy.close(),
  }
}

test('while PostgreSQL is down sends get 503 and readiness fails; when it is back runs continue by themselves', async (t) => {
  const database = await startPostgres()
  if ('skip' in database) return t.skip(database.skip)
  const line = await proxyTo(database.url)
  const report = () => {}
  const environment = { HOLDFAST_HOME: newHome(t), DATABASE_URL: line.url }
  const app = await openApp({ environment, role: 'owner', report })
  const server = await startServer({
    context: app.context,
    host: '127.0.0.1',
    port: 0,
    apiKey: KEY,
    version: '1',
    report,
  })
  t.after(async () => {
    await server.close()
    await app.close()
    line.close()
    await database.stop()
  })
  const agent = await createAgent({ name: 'ada', model: 'scripted/friendly' }, app.context)
  const until = async (isSo: () => Promise<boolean>) => {
    while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 50))
  }
  const isReady = (status: number) => async () => (await fetch(`${server.url}/v1/ready/`)).status === status
  const send = (input: string) =>
    fetch(`${server.url}/v1/agents/${agent.id}/messages/async`, {
      method: 'POST',
      headers: auth,
      body: JSON.stringify({ input }),
    })
  const { id } = (await (await send('count to 4')).json()) as { id: string }
  await until(async () => {
    const events = await app.context.deps.store.events.read(id as `run-${string}`, 0)
    return events.some(({ event }) => event.type === 'tool-started')
  })

  line.takeAway()
  await until(isReady(503))
  const refused = await send('hello')
  assert.equal(refused.status, 503)
  assert.equal(refused.headers.get('retry-after'), '1')
  const { detail } = (await refused.json()) as { detail: string }
  assert.doesNotMatch(detail, /127\.0\.0\.1|postgres/i, 'the error reveals nothing internal')
  assert.equal((await fetch(`${server.url}/v1/health/`)).status, 200)
  const metrics = await (await fetch(`${server.url}/metrics`, { headers: auth })).text()
  assert.match(metrics, /^holdfast_store_up 0$/m)

  line.bringBack()
  await until(isReady(200))
  const run = async () =>
    (await (await fetch(`${server.url}/v1/runs/${id}`, { headers: auth })).json()) as { status: string }
  await until(async () => (await run()).status === 'completed')
  assert.equal((await app.context.deps.store.runs.getAnywhere(id as `run-${string}`))?.deaths, 0)
  assert.equal((await send('hello')).status, 200)
  return undefined
})
