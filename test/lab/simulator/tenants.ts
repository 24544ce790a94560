import { DatabaseSync } from 'node:sqlite'
import type { OrganizationId, WorkerId } from '../../../src/core/id.ts'
import { DEFAULT_LIMITS } from '../../../src/core/limits.ts'
import type { KeyId } from '../../../src/core/people.ts'
import type { Run } from '../../../src/core/run.ts'
import { newShares } from '../../../src/engine/shares.ts'
import { newTurnShares } from '../../../src/engine/turn-shares.ts'
import type { Clock } from '../../../src/ports/clock.ts'
import type { SpendReservation } from '../../../src/ports/shares.ts'
import type { Store } from '../../../src/ports/store.ts'
import { shareSqliteStore } from '../../../src/storage/sqlite.ts'
import { type Kernel, newKernel } from './kernel.ts'

/** Turns of several organizations on several workers, claimed, queued and paid for in an order that the seed decides. */
export async function runTenantDay(seed: number): Promise<string[]> {
  const kernel = newKernel(seed)
  const database = new DatabaseSync(':memory:')
  const { store } = await shareSqliteStore({ database, clock: stillClock, ownership: 'peer' })
  const violations: string[] = []
  const violate = (text: string) => void violations.push(`tenants: ${text}`)
  try {
    await claimFairly(kernel, { store, violate })
    await spendWithin(kernel, { store, violate })
  } finally {
    await store.close()
    database.close()
  }
  return violations
}

type Day = { store: Store; violate(text: string): void }

const AT = Date.UTC(2026, 0, 1)

const stillClock: Clock = {
  now: () => AT,
  monotonic: () => 0,
  sleep: async () => undefined,
  every: () => () => undefined,
  soon: (task) => queueMicrotask(task),
}

const STEPS = 60
const QUOTA = { organization: 5, key: 3 }

async function claimFairly(kernel: Kernel, { store, violate }: Day): Promise<void> {
  const organizations = Array.from({ length: kernel.between(2, 3) }, (): OrganizationId => `org-${kernel.uuid()}`)
  const keys = new Map(organizations.map((id) => [id, [0, 1, 2].map((): KeyId => `key-${kernel.uuid()}`)]))
  const slots = kernel.between(1, 4)
  const most = kernel.pick([0, 0, 2])
  const workers = Array.from({ length: kernel.between(1, 2) }, () => ({
    id: `worker-${kernel.uuid()}` as WorkerId,
    shares: newTurnShares({ maxRunning: slots, most: () => most }),
    running: new Map<Run['id'], { run: Run; leave(): void }>(),
    served: [] as OrganizationId[],
  }))
  for (const { id } of workers) await store.workers.beat(id, 1_000_000)
  const queued: Run[] = []
  const queuedOf = (id: OrganizationId) => queued.filter(({ organizationId }) => organizationId === id)
  const runningOf = (id: OrganizationId) =>
    workers.flatMap(({ running }) => [...running.values()]).filter(({ run }) => run.organizationId === id).length

  for (let step = 0; step < STEPS; step++) {
    if (kernel.chance(0.5)) await open(kernel.pick(organizations))
    else if (kernel.chance(0.6)) await claim(kernel.pick(workers))
    else await finish(kernel.pick(workers))
  }

  async function open(organizationId: OrganizationId): Promise<void> {
    const openedBy = kernel.pick(keys.get(organizationId)!)
    const conversation = await newConversation(organizationId, { kernel, store })
    const opened = await store.runs.open({
      run: {
        id: `run-${kernel.uuid()}`,
        organizationId,
        ...conversation,
        background: false,
        createdAt: AT,
        metadata: {},
        openedBy,
      },
      entry: { event: { type: 'input-accepted', v: 1, inputs: [], settings: SETTINGS }, at: AT, changes: [] },
      interruption: { event: { type: 'cancel-requested', v: 1, cause: 'interrupt' }, at: AT, changes: [] },
      steering: { event: { type: 'input-steered', v: 1, inputs: [] }, at: AT, changes: [] },
      policy: 'queue',
      quota: QUOTA,
    })
    const ofKey = queuedOf(organizationId).filter((run) => run.openedBy === openedBy).length
    const isFull = queuedOf(organizationId).length >= QUOTA.organization || ofKey >= QUOTA.key
    if (isFull !== (opened.type === 'over-quota'))
      violate(`a run was ${opened.type} with ${queuedOf(organizationId).length} queued, ${ofKey} of them by its key`)
    if (opened.type === 'opened') queued.push(opened.run)
  }

  async function claim(worker: (typeof workers)[number]): Promise<void> {
    if (worker.running.size >= slots) return
    const candidates = organizations.filter((id) => queuedOf(id).length > 0 && !worker.shares.isFull(id))
    const fewest = Math.min(...candidates.map(runningOf))
    const rank = (id: OrganizationId) => worker.served.lastIndexOf(id)
    const least = Math.min(...candidates.filter((id) => runningOf(id) === fewest).map(rank))
    const taken = await store.runs.claimNext(worker.id, worker.shares.state())
    if (!taken || taken === 'blocked') {
      if (candidates.length > 0) violate('a slot stays empty while a run is queued')
      return
    }
    const { run } = taken
    const { organizationId } = run
    if (runningOf(organizationId) > fewest) violate('an organization with more running turns was served first')
    else if (rank(organizationId) > least) violate('an organization was served twice before another one')
    queued.splice(
      queued.findIndex(({ id }) => id === run.id),
      1,
    )
    worker.served.push(organizationId)
    worker.running.set(run.id, { run, leave: worker.shares.enter(organizationId) })
  }

  async function finish(worker: (typeof workers)[number]): Promise<void> {
    const [one] = worker.running.values()
    if (!one) return
    const { run, leave } = one
    await store.events.append({
      runId: run.id,
      commitId: kernel.uuid(),
      writer: { type: 'holder', fence: run.fence },
      seen: 2,
      facts: [],
      intents: [{ event: { type: 'turn-ended', v: 1, stopReason: 'end_turn' }, at: AT, changes: [COMPLETES] }],
    })
    worker.running.delete(run.id)
    leave()
  }
}

const SETTINGS = {
  targets: ['test/model' as const],
  maxSteps: 1,
  maxDurationMs: 1_000,
  streamTokens: false,
  onGuarded: 'ask' as const,
  approvalTtlMs: 1_000,
}

const COMPLETES = {
  type: 'change-run' as const,
  change: {
    status: 'completed' as const,
    stopReason: 'end_turn' as const,
    completedAt: AT,
    releaseLease: true as const,
  },
}

async function newConversation(organizationId: OrganizationId, { kernel, store }: { kernel: Kernel; store: Store }) {
  const agentId = `agent-${kernel.uuid()}` as const
  const conversationId = `conv-${kernel.uuid()}` as const
  const agent = {
    id: agentId,
    organizationId,
    name: 'tenant',
    system: '',
    model: 'test/model' as const,
    fallback: [],
    tools: [],
    createdAt: AT,
    updatedAt: AT,
  }
  await store.agents.create(agent, conversationId)
  return { agentId, conversationId }
}

/** Dollars of a day. */
const BUDGET = 100
const DOLLAR_A_TOKEN = { input: 1_000_000, output: 1_000_000, asOf: 'simulated' }

/** Requests that overlap: what was spent and what may still be spent never pass the limit together. */
async function spendWithin(kernel: Kernel, { store, violate }: Day): Promise<void> {
  const shares = newShares({
    store: store.shares,
    clock: stillClock,
    limits: { ...DEFAULT_LIMITS, dollarsPerDayPerOrganization: BUDGET },
    priceOf: () => DOLLAR_A_TOKEN,
  })
  const organizationId: OrganizationId = `org-${kernel.uuid()}`
  const open: { most: number; reservation: Extract<SpendReservation, { type: 'reserved' }> }[] = []
  let spent = 0
  for (let step = 0; step < STEPS; step++) {
    const settled = kernel.chance(0.4) ? open.shift() : undefined
    if (settled) {
      const promptTokens = kernel.between(1, settled.most)
      spent += promptTokens
      await settled.reservation.settle({ promptTokens, completionTokens: 0 })
      continue
    }
    const [promptTokens, outputTokens] = [kernel.between(1, 20), kernel.between(1, 20)]
    const reservation = await shares.reserve({ organizationId, handle: 'test/model', promptTokens, outputTokens })
    const most = promptTokens + outputTokens
    const reserved = spent + open.reduce((sum, one) => sum + one.most, 0)
    const fits = reserved + most <= BUDGET
    if (fits !== (reservation.type === 'reserved'))
      violate(`a request for $${most} was ${reservation.type} with $${reserved} of $${BUDGET} spent or reserved`)
    if (reservation.type === 'reserved') open.push({ most, reservation })
  }
}
