import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { holdfast } from '../cli/holdfast.ts'
import { seededFraction } from '../harness/seeded.ts'
import { MODEL, openServer, type Server } from './fixture-server-process.ts'
import type { WireValue } from './send-modes.ts'

type Kills = { servers: number; schedules: number; kills: number; environment?: Record<string, string> }

/** Over so many conversations that no queue is full. */
const CONVERSATIONS = 12
/** The instants are this close, so that every kill is among them. */
const SPREAD_MS = 25_000
const SEED = 24

/**
 * Many schedules fire on servers that are killed again and again. Each instant becomes one run or has the reason why not,
 * and no instant becomes two.
 */
export async function survivesKills(
  context: TestContext,
  { servers: amount, schedules, kills, environment = {} }: Kills,
): Promise<void> {
  const fraction = seededFraction(SEED)
  const servers: Server[] = []
  for (let count = 0; count < amount; count++) {
    const server = await openServer(environment)
    context.after(() => server.close())
    servers.push(server)
  }
  const [first] = servers as [Server]
  const agent = await first.client.agents.create({ name: 'ada', model: MODEL, include_base_tools: false })
  const conversations: string[] = []
  while (conversations.length < CONVERSATIONS)
    conversations.push((await first.client.conversations.create({ agent_id: agent.id })).id)
  const start = Date.now() + 5_000
  const ids: string[] = []
  for (let index = 0; index < schedules; index++) {
    const made = await ask(first, 'POST', '/v1/schedules', {
      agent_id: agent.id,
      conversation_id: conversations[index % CONVERSATIONS],
      content: `tick ${index}`,
      at: new Date(start + Math.floor(fraction() * SPREAD_MS)).toISOString(),
      grace_seconds: 60,
    })
    ids.push(made.id)
  }
  for (let kill = 0; kill < kills; kill++) {
    await sleep(50 + Math.floor(fraction() * 1_500))
    const victim = servers[Math.floor(fraction() * amount)]!
    await victim.kill()
    await victim.start()
  }
  while ((await listed(first, '/v1/schedules')).some(({ state }) => state !== 'ended')) await sleep(200)
  const outcomes: Record<string, number> = {}
  const fired = new Map<string, string>()
  for (const id of ids) {
    const history = (await ask(first, 'GET', `/v1/schedules/${id}/history`)) as WireValue[]
    assert.equal(history.length, 1, `${id} was settled ${history.length} times`)
    const [{ outcome, reason, run_id }] = history as [WireValue]
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
    if (outcome === 'fired') fired.set(id, run_id)
    else assert.ok(reason, `${id} was ${outcome} without a reason`)
  }
  const path = `/v1/runs?agent_id=${agent.id}`
  while ((await listed(first, path)).some(({ status }) => status === 'created' || status === 'running'))
    await sleep(200)
  const runs = await listed(first, path)
  const owners = runs.map(({ id, metadata }) => `${metadata.schedule_id} ${id}`)
  assert.deepEqual(owners.sort(), [...fired].map(([schedule, run]) => `${schedule} ${run}`).sort())
  assert.ok(fired.size > 0, JSON.stringify(outcomes))
  context.diagnostic(`${kills} kills of ${amount} servers, ${schedules} instants: ${JSON.stringify(outcomes)}`)
  for (const server of servers) await server.stop()
  const doctor = await holdfast(['doctor'], { home: first.home, environment: first.environment })
  assert.equal(doctor.code, 0, doctor.stdout + doctor.stderr)
}

async function ask(server: Server, method: string, path: string, body?: object): Promise<WireValue> {
  const response = await server.fetch(path, body ? { method, body: JSON.stringify(body) } : { method })
  assert.equal(response.status, 200, `${method} ${path}: ${response.status}`)
  return response.json()
}

const PAGE = 100

async function listed(server: Server, path: string): Promise<WireValue[]> {
  const all: WireValue[] = []
  for (;;) {
    const last = all.at(-1)?.id
    const query = `${path.includes('?') ? '&' : '?'}limit=${PAGE}&order=asc${last ? `&after=${last}` : ''}`
    const page = (await ask(server, 'GET', path + query)) as WireValue[]
    all.push(...page)
    if (page.length < PAGE) return all
  }
}
