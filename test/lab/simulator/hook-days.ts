import { createHmac } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { setImmediate as turn } from 'node:timers/promises'
import { sha256 } from '../../../src/config/sha256.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/core/duration.ts'
import { DEFAULT_ORGANIZATION } from '../../../src/core/id.ts'
import { checkDelivery, checkHookDelivery } from '../../../src/core/invariants/all.ts'
import { MAX_TRIES } from '../../../src/core/webhook-delivery.ts'
import { startWebhookSender } from '../../../src/jobs/webhook-sender.ts'
import type { Clock } from '../../../src/ports/clock.ts'
import type { Store } from '../../../src/ports/store.ts'
import { createHook } from '../../../src/service/hooks/hooks.ts'
import { receiveDelivery } from '../../../src/service/hooks/receive-delivery.ts'
import type { ServiceContext } from '../../../src/service/service-context.ts'
import { createWebhook } from '../../../src/service/webhooks/webhooks.ts'
import { shareSqliteStore } from '../../../src/storage/sqlite.ts'
import { seededFraction } from '../../harness/seeded.ts'
import { newStubContext, noCredentials, stubEngineDeps } from '../../harness/stubs.ts'

const START = Date.UTC(2026, 5, 1)
const STEPS = 30
const MOST_FAILURES = 3
const SECRET = 'a secret of the sender'

/** Enough turns of the event loop for everything that is on its way. */
async function settle(): Promise<void> {
  for (let turns = 0; turns < 60; turns++) await turn()
}

/**
 * Some days of a sender that repeats its deliveries, and of a receiver that fails, on two servers with one database that
 * die before and after their commits. Returns what is wrong at the end. The runs are opened and end; no turn is carried out.
 */
export async function runHookDays(seed: number): Promise<{ violations: string[]; runs: number; calls: number }> {
  const fraction = seededFraction(seed ^ 0x400c)
  const chance = (probability: number) => fraction() < probability
  let now = START
  let ids = 0
  const uuid = () =>
    `${seed.toString(16).padStart(8, '0').slice(-8)}-0000-4000-8000-${(++ids).toString(16).padStart(12, '0')}`
  const database = new DatabaseSync(':memory:')
  const violations: string[] = []
  const told = new Map<string, number>()
  /** Failures of the receiver, by run: fewer than the tries, so that each end is told of in the end. */
  const failures = new Map<string, number>()
  let isCalm = false

  async function boot() {
    const ticks = new Set<() => void>()
    const server = { isAlive: true, mayDie: false, ticks, context: undefined as unknown as ServiceContext }
    const clock: Clock = {
      now: () => now,
      monotonic: () => now,
      sleep: async () => undefined,
      every: (_, tick) => {
        ticks.add(tick)
        return () => ticks.delete(tick)
      },
      soon: (task) => void setImmediate(task),
    }
    const { store: whole, snapshot } = await shareSqliteStore({ database, clock, ownership: 'peer' })
    const dies = (): never => {
      server.isAlive = false
      throw new Error('killed')
    }
    const mortal =
      <Parameters extends unknown[], T>(work: (...parameters: Parameters) => Promise<T>) =>
      async (...parameters: Parameters): Promise<T> => {
        if (!server.isAlive || (server.mayDie && chance(0.05))) dies()
        const result = await work(...parameters)
        if (!server.isAlive || (server.mayDie && chance(0.05))) dies()
        return result
      }
    const { hooks, webhooks } = whole
    const store: Store = {
      ...whole,
      hooks: { ...hooks, receive: mortal(hooks.receive) },
      webhooks: { ...webhooks, claim: mortal(webhooks.claim), record: mortal(webhooks.record) },
    }
    const report = (fault: unknown) => {
      if (server.isAlive) violations.push(`an internal error: ${fault instanceof Error ? fault.stack : fault}`)
    }
    /** The receiver: it gets what a server sends while it lives, and its answer may be lost. */
    const receiver = async (_: string, { headers, body }: { headers: Record<string, string>; body: string }) => {
      if (!server.isAlive) return dies()
      const { data } = JSON.parse(body) as { data: { run_id: string } }
      const failed = failures.get(data.run_id) ?? 0
      const isFailing = !isCalm && failed < MOST_FAILURES && chance(0.4)
      if (isFailing) failures.set(data.run_id, failed + 1)
      if (isFailing && chance(0.5)) throw new Error('connection refused')
      if (headers['webhook-id'] !== `${data.run_id}_ended`)
        violations.push(`${data.run_id} was told of as ${headers['webhook-id']}`)
      told.set(data.run_id, (told.get(data.run_id) ?? 0) + 1)
      if (server.mayDie && chance(0.05)) return dies()
      return new Response(null, { status: isFailing ? 500 : 204 })
    }
    const outbound = {
      fetch: { public: receiver, configured: receiver },
      addressFault: () => undefined,
    } as unknown as ServiceContext['outbound']
    const deps = { ...stubEngineDeps(), store, clock, report, digest: sha256, credentials: noCredentials }
    server.context = newStubContext({
      deps: { ...deps, randomness: { uuid, fraction } } as unknown as ServiceContext['deps'],
      snapshot,
      outbound,
      defaults: { model: 'test/model', maxSteps: 10, maxDurationMs: HOUR_MS, approvalTtlMs: DAY_MS },
    })
    const webhookBody = async ({ type }: { type: string }, story: { run: { id: string } } | undefined) =>
      JSON.stringify({ type, data: { run_id: story?.run.id } })
    startWebhookSender({ context: server.context, webhookBody: webhookBody as never })
    return server
  }

  const servers = [await boot(), await boot()]
  const { context } = servers[0]!
  const agent = {
    id: `agent-${uuid()}` as const,
    organizationId: DEFAULT_ORGANIZATION,
    name: 'listener',
    system: '',
    model: 'test/model' as const,
    fallback: [],
    tools: [],
    createdAt: START,
    updatedAt: START,
  }
  await context.deps.store.agents.create(agent, `conv-${uuid()}`)
  const { hook } = await createHook(
    { agent, scheme: 'github', template: '{{body.text}}', secret: SECRET, perMinute: 10_000 },
    context,
  )
  await createWebhook({ url: 'https://receiver.example.com', events: ['run.ended'] }, context)

  /** What the sender knows to be taken, by the delivery. */
  const accepted = new Map<number, string>()
  const traffic = { take: () => 0, mayLogRefusal: () => true }
  async function deliver(delivery: number, server: (typeof servers)[number]): Promise<void> {
    const bytes = Buffer.from(JSON.stringify({ text: `delivery ${delivery}` }))
    const signature = createHmac('sha256', SECRET).update(bytes).digest('hex')
    const headers = { 'x-hub-signature-256': `sha256=${signature}`, 'x-github-delivery': String(delivery) }
    const request = { bytes, headers, isTooLarge: false, read: (text: Buffer) => JSON.parse(text.toString()) }
    try {
      const { runId } = await receiveDelivery(hook.id, request, { ...server.context, traffic })
      const before = accepted.get(delivery)
      if (before && before !== runId) violations.push(`delivery ${delivery} is ${before} and ${runId}`)
      if (server.isAlive && runId) accepted.set(delivery, runId)
    } catch {
      // The server died, or the queue is full: the sender sends it again.
    }
  }
  const endRuns = database.prepare(
    "update runs set status = 'completed', stop_reason = 'end_turn', completed_at = ? where status = 'created'",
  )
  const tickAll = async () => {
    for (const { isAlive, ticks } of servers) if (isAlive) for (const tick of ticks) tick()
    await settle()
  }

  let sent = 0
  for (let step = 0; step < STEPS; step++) {
    now += Math.ceil(fraction() * 20 * MINUTE_MS)
    for (const [index, server] of servers.entries()) {
      if (!server.isAlive) servers[index] = await boot()
      servers[index]!.mayDie = true
    }
    const pending = Array.from({ length: sent }, (_, delivery) => delivery).filter((one) => !accepted.has(one))
    const again = sent > 0 && chance(0.3) ? [Math.floor(fraction() * sent)] : []
    const fresh = chance(0.8) ? [sent++, sent++] : []
    const wanted = [...pending, ...again, ...fresh]
    await Promise.all(wanted.flatMap((one) => servers.filter(() => chance(0.6)).map((server) => deliver(one, server))))
    if (chance(0.7)) endRuns.run(now)
    await tickAll()
  }

  isCalm = true
  servers.splice(0, 2, await boot(), await boot())
  for (let delivery = 0; delivery < sent; delivery++) await deliver(delivery, servers[0]!)
  endRuns.run(now)
  // Leases, rests and all of the backoff.
  for (let round = 0; round < 80; round++) {
    now += 10 * MINUTE_MS
    await tickAll()
  }

  const runs = database.prepare('select id from runs').all() as { id: string }[]
  if (runs.length !== sent) violations.push(`${sent} deliveries became ${runs.length} runs`)
  // Tries in which a server died count too: a delivery that they used up says so, and an operator sends it again.
  const usedUp = database.prepare(
    'select 1 from webhook_deliveries where run_id = ? and due_at is null and tries >= ? and error is not null',
  )
  for (const { id } of runs)
    if (!told.has(id) && !usedUp.get(id, MAX_TRIES)) violations.push(`the end of ${id} was not told of`)
  for (const id of told.keys())
    if (!runs.some((run) => run.id === id)) violations.push(`${id} was told of and is no run`)
  const { snapshot } = servers[0]!.context
  const found = []
  for await (const record of snapshot.hookDeliveries()) found.push(...checkHookDelivery(record))
  for await (const record of snapshot.webhookDeliveries()) found.push(...checkDelivery(record))
  violations.push(...found.map(({ invariant, where, detail }) => `${invariant} ${where}: ${detail}`))
  database.close()
  return { violations, runs: runs.length, calls: [...told.values()].reduce((sum, count) => sum + count, 0) }
}
