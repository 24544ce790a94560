import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import { holdfast } from '../cli/holdfast.ts'
import { listenForCallbacks } from './callback-listener.ts'
import { MODEL, openServer, type Server } from './fixture-server-process.ts'
import type { WireValue } from './send-modes.ts'

/** When the process is killed, after the delivery was sent: from before it is read to after its webhook was called. */
const KILLS_MS = [0, 2, 4, 6, 8, 11, 15, 20, 26, 33, 42, 55, 70, 90, 120, 160, 220, 300]

/**
 * Sends deliveries to a hook as a sender does, again and again until one is accepted, while the server is killed. Each
 * becomes one run, and the end of each run reaches the webhook under one id.
 */
export async function survivesKills(context: TestContext, environment: Record<string, string> = {}): Promise<void> {
  const server = await openServer(environment)
  context.after(() => server.close())
  let calls = 0
  let killAtCall: (() => void) | undefined
  const listener = await listenForCallbacks((response) => {
    calls += 1
    // Killed between the call and its answer: it comes again.
    if (killAtCall) killAtCall()
    else response.end('{}')
  })
  context.after(() => listener.close())
  const agent = await server.client.agents.create({ name: 'ada', model: MODEL, include_base_tools: false })
  const hook = await post(server, '/v1/hooks', { agent_id: agent.id, scheme: 'standard', template: '{{body.text}}' })
  await post(server, '/v1/webhooks', { url: listener.url, events: ['run.ended'] })

  const runs = new Map<string, string>()
  for (const [index, delay] of KILLS_MS.entries()) {
    const id = `msg_${index}`
    const delivered = deliver(server, hook, id)
    await sleep(delay)
    await server.kill()
    await server.start()
    runs.set(id, await delivered)
    // A run that dies three times at one step is given up: each kill has its own.
    while (!(await areOver(server, agent.id))) await sleep(20)
  }
  const killed = new Promise<void>((resolve) => {
    killAtCall = resolve
  })
  runs.set('at the call', await deliver(server, hook, 'msg_call'))
  await killed
  killAtCall = undefined
  await server.kill()
  await server.start()

  const ids = new Set([...runs.values()])
  assert.equal(ids.size, runs.size, 'each delivery is a run of its own')
  const expected = [...ids].map((id) => `${id}_ended`).sort()
  const told = () => [...new Set(listener.calls.map(({ headers }) => String(headers['webhook-id'])))].sort()
  while (told().length < expected.length || !(await areDelivered(server))) await sleep(50)
  assert.deepEqual(told(), expected)
  const listed = await runsOf(server, agent.id)
  assert.deepEqual(listed.map((run: WireValue) => run.id).sort(), [...ids].sort(), 'no delivery became two runs')
  for (const run of listed) assert.deepEqual([run.status, run.stop_reason], ['completed', 'end_turn'])
  for (const { headers, body } of listener.calls) assert.equal(headers['webhook-id'], `${body.data.run_id}_ended`)
  context.diagnostic(`${KILLS_MS.length + 1} kills, ${runs.size} deliveries, ${ids.size} runs, ${calls} webhook calls`)
  await server.stop()
  const doctor = await holdfast(['doctor'], { home: server.home, environment: server.environment })
  assert.equal(doctor.code, 0, doctor.stdout + doctor.stderr)
}

async function post(server: Server, path: string, body: object): Promise<WireValue> {
  const response = await server.fetch(path, { method: 'POST', body: JSON.stringify(body) })
  assert.equal(response.status, 200)
  return response.json()
}

/** A sender: the same id until it is taken. Returns the run. */
async function deliver(server: Server, { path, secret }: WireValue, id: string): Promise<string> {
  const text = JSON.stringify({ text: `hello ${id}` })
  for (;;) {
    const at = new Date()
    const headers = {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
      'webhook-signature': new Webhook(secret).sign(id, at, text),
    }
    try {
      const response = await fetch(`${server.url()}${path}`, { method: 'POST', headers, body: text })
      const body = (await response.json()) as WireValue
      if (response.ok) return body.run_id
    } catch {
      // The server was killed: a sender repeats the delivery.
    }
    await sleep(20)
  }
}

async function runsOf(server: Server, agentId: string): Promise<WireValue[]> {
  return (await (await server.fetch(`/v1/runs?agent_id=${agentId}&limit=100`)).json()) as WireValue[]
}

async function areOver(server: Server, agentId: string): Promise<boolean> {
  return (await runsOf(server, agentId)).every(({ status }) => status !== 'created' && status !== 'running')
}

async function areDelivered(server: Server): Promise<boolean> {
  const response = await server.fetch('/v1/webhook-deliveries?limit=1000')
  return ((await response.json()) as WireValue).every(({ state }: WireValue) => state === 'delivered')
}
