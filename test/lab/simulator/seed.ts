import { DatabaseSync } from 'node:sqlite'
import type { Agent } from '../../../src/core/agent.ts'
import { type ConversationId, DEFAULT_ORGANIZATION } from '../../../src/core/id.ts'
import { HEARTBEAT_MS } from '../../../src/engine/engine.ts'
import { LEASE_MS } from '../../../src/engine/lease.ts'
import type { Store } from '../../../src/ports/store.ts'
import { shareSqliteStore } from '../../../src/storage/sqlite.ts'
import { runCalmPhase } from './calm-phase.ts'
import { newChecker } from './checker.ts'
import { runClient, type SimulatedClientDeps } from './clients.ts'
import { drawFaults, type Fault, newFaultInjector } from './faults.ts'
import { onFullDisk } from './full-disk.ts'
import { type Kernel, newKernel } from './kernel.ts'
import { newLogins } from './logins.ts'
import { seedNotes } from './note-check.ts'
import { EPOCH, type SimulatedProcess, startProcess } from './process.ts'
import { REMOTE_TOOLS, storeRemoteTools } from './remote-tools.ts'
import { newSandboxes, sourceTool } from './sandboxes.ts'
import { drawSetup, type Setup } from './setup.ts'
import { openTokenServer } from './token-server.ts'
import { KINDS } from './tools.ts'
import { newVendors } from './vendors.ts'

export type SeedOptions = {
  seed: number
  /** Enables only these of the drawn faults, for shrinking. */
  allow?: ReadonlySet<Fault>
  /** Enables exactly these faults instead of the drawn ones. */
  exactly?: ReadonlySet<Fault>
  clients?: number
  durationMs?: number
}

export type SeedReport = {
  seed: number
  violations: string[]
  story: string[]
  hash: string
  events: number
  runs: number
  faults: Map<Fault, number>
  reached: Map<string, number>
  /** Runs by conversation, in the order they were accepted. */
  conversations: string[][]
}

const DURATION_MS = 25_000
/** After the faults: long enough for leases and approvals to expire and unresponsive tools to be aborted. */
const REST_MS = 420_000
/** After an approval has expired: time for the run queued behind it. */
const LAPSE_MS = 60_000

/** One simulated day: several processes and clients, a mixture of faults, then a calm phase. The seed decides all. */
export async function runSeed({
  seed,
  allow,
  exactly,
  clients = 3,
  durationMs = DURATION_MS,
}: SeedOptions): Promise<SeedReport> {
  const kernel = newKernel(seed)
  const drawn = drawFaults(kernel)
  const faults = exactly ?? (allow ? new Set([...drawn].filter((fault) => allow.has(fault))) : drawn)
  const injector = newFaultInjector(kernel, { faults, endsAt: durationMs })
  const setup = drawSetup(kernel, seed)
  const sandboxes = newSandboxes({ kernel, injector })
  let nights = 0
  const now = () => kernel.now() + nights
  const vendors = newVendors({ kernel, injector, setup, now, endsAt: durationMs })
  let isReady = false
  const bare = new DatabaseSync(':memory:')
  const database = onFullDisk(bare, injector, () => isReady)
  const quiet = {
    now: kernel.now,
    monotonic: kernel.now,
    sleep: kernel.delay,
    every: () => () => {},
    soon: (task: () => void) => void kernel.after(0, task),
  }
  const violateLater = (text: string) => checker?.violate(text)
  const logins = newLogins({ vendors, now, mayReuse: () => injector.isOn('clock-jump'), violate: violateLater })
  const tokenServer = openTokenServer({
    kernel,
    injector,
    vendors,
    tokenUsed: logins.tokenUsed,
    responseLost: logins.responseLost,
  })
  let checker: ReturnType<typeof newChecker> | undefined
  let seeded: SeededConversation[] = []
  let store: Store | undefined
  const processes: SimulatedProcess[] = []

  const runningIn = (name: string) => processes.find((each) => each.name === name)?.engine.dispatcher.running() ?? []
  const prepare = async () => {
    const opened = await shareSqliteStore({ database, clock: quiet, ownership: 'peer' })
    checker = newChecker(kernel, { database: bare, opened, runningIn, vendors, setup })
    seeded = await createConversations(opened.store, { kernel, setup, count: Math.min(2, clients) })
    if (setup.hasSources) await opened.store.tools.create(sourceTool())
    if (setup.login !== 'none') await logins.logIn(opened.store)
    seedNotes(bare, { setup, seed, epoch: EPOCH })
    store = opened.store
    isReady = true
  }
  const preparing = prepare()
  while (!isReady) await kernel.run(kernel.now() + 1)
  await preparing
  const { observer, outside, violations, reached, processDied, checkAtEnd } = checker!

  let lives = 0
  const boot = async () => {
    const name = `p${++lives}`
    const onDeath = () => {
      processDied(name)
      kernel.after(restartDelay(kernel), () => void boot().catch(fail))
    }
    const deps = { kernel, injector, database, observer, outside, setup, vendors, tokenServer, sandboxes }
    processes.push(await startProcess({ name, ...deps, nights: () => nights, onDeath }))
  }
  const fail = (fault: unknown) => {
    // A process that cannot start because of a store error is started again, as a supervisor would do.
    if (fault instanceof Error && fault.name === 'StorageError') kernel.after(500, () => void boot().catch(fail))
    else violations.push(`an internal error: ${fault instanceof Error ? fault.stack : fault}`)
  }
  const anyContext = () => {
    const alive = processes.filter((process) => process.isAlive)
    return alive.length > 0 ? kernel.pick(alive).context : undefined
  }
  for (let index = 0; index < 2; index++) void boot().catch(fail)
  const clientsOf = (role: string) =>
    Array.from({ length: clients }, (_, index): SimulatedClientDeps => {
      const conversation = seeded[index % seeded.length]!
      return {
        name: `${role}${index}`,
        kernel,
        injector,
        checker: checker!,
        conversation,
        anyContext,
        endsAt: durationMs,
        hasGiants: setup.hasGiants,
      }
    })
  process.on('unhandledRejection', fail)
  for (const client of clientsOf('c')) void runClient(client).catch(fail)
  void injectTrouble(kernel, { injector, processes, durationMs })
  await kernel.run(durationMs)
  kernel.log('the faults are over')
  for (const each of processes) each.setClockRight()
  if (await waitUntilQuiet(kernel, bare, durationMs + REST_MS)) {
    // A lost token is replaced by a new login, and every cooldown ends.
    if (setup.login !== 'none') await whenOver(kernel, logins.logIn(store!), 1)
    nights = Math.max(0, checker!.lastCooldown() - EPOCH - kernel.now() + 1)
    kernel.log(`a night of ${nights} ms passes`)
    // A failed token renewal is not retried for a minute.
    await kernel.run(kernel.now() + (setup.login === 'none' ? 3 * HEARTBEAT_MS : 60_000))
    kernel.log('the calm phase begins')
    checker!.startCalmPhase()
    const calmPhase = Promise.all(clientsOf('e').slice(0, seeded.length).map(runCalmPhase)).catch(fail)
    await whenOver(kernel, calmPhase, 1_000)
    await waitUntilQuiet(kernel, bare, kernel.now() + REST_MS, nights)
  }
  if (kernel.isExhausted()) checker!.violate('I13 endless loop: the day has too many events')
  await whenOver(kernel, checkAtEnd(), 1)
  violations.push(...sandboxes.faults(bare))
  for (const each of processes) each.kill('the day is over')
  process.off('unhandledRejection', fail)
  tokenServer.close()
  const conversations = seeded.map(({ conversationId }) =>
    bare
      .prepare('select id from runs where conversation_id = ? order by number')
      .all(conversationId)
      .map(({ id }) => String(id)),
  )
  const runs = Number(bare.prepare('select count(*) as count from runs').get()?.count)
  bare.close()
  const { story } = kernel
  return {
    seed,
    violations,
    story,
    hash: kernel.hash(),
    events: kernel.events(),
    runs,
    faults: injector.struck,
    reached,
    conversations,
  }
}

/** Half of the restarts coincide with the heartbeats of other processes, so that they race for the same runs. */
function restartDelay(kernel: Kernel): number {
  const delay = kernel.between(50, 4_000)
  return kernel.chance(0.5) ? delay : HEARTBEAT_MS - (kernel.now() % HEARTBEAT_MS)
}

/** Lets time pass until no run is open, and a while longer, so that late events can still do harm. */
async function waitUntilQuiet(kernel: Kernel, database: DatabaseSync, until: number, nights = 0): Promise<boolean> {
  const open = database.prepare(
    `select 1 from runs where status in ('created', 'running') or waiting = 1
     union all select 1 from stream_heads where ended = 0`,
  )
  // A fast clock has given an approval a later expiry.
  const lapse = database.prepare('select max(expires_at) as at from runs where waiting = 1')
  const isLate = () => kernel.now() >= Math.max(until, Number(lapse.get()?.at ?? 0) - EPOCH - nights + LAPSE_MS)
  for (let quiet = 0; !isLate() && !kernel.isExhausted(); ) {
    await kernel.run(kernel.now() + 5_000)
    quiet = open.get() ? 0 : quiet + 1
    if (quiet === 5) return true
  }
  return false
}

async function whenOver(kernel: Kernel, work: Promise<unknown>, stepMs: number): Promise<void> {
  let isOver = false
  void work.finally(() => {
    isOver = true
  })
  while (!isOver && !(stepMs > 1 && kernel.isExhausted())) await kernel.run(kernel.now() + stepMs)
  if (isOver) await work
}

type SeededConversation = { agent: Agent; conversationId: ConversationId }

type CreateConversationsOptions = { kernel: Kernel; setup: Setup; count: number }

async function createConversations(
  store: Store,
  { kernel, setup, count }: CreateConversationsOptions,
): Promise<SeededConversation[]> {
  const created: SeededConversation[] = []
  await storeRemoteTools(store, kernel)
  for (let index = 0; index < count; index++) {
    const agent: Agent = {
      id: `agent-${kernel.uuid()}`,
      organizationId: DEFAULT_ORGANIZATION,
      name: `agent ${index}`,
      system: '',
      model: setup.chain[0]!,
      fallback: setup.chain.slice(1),
      tools: [...KINDS.map((kind) => kind.name), ...REMOTE_TOOLS],
      settings: {
        // A second: a day has 25.
        sessionExpiry: { idleMinutes: 0.02 },
        wire: { model_settings: { temperature: 0.5, reasoning: { reasoning_effort: 'low' } } },
      },
      createdAt: 0,
      updatedAt: 0,
    }
    const conversationId: ConversationId = `conv-${kernel.uuid()}`
    await store.agents.create(agent, conversationId)
    created.push({ agent, conversationId })
  }
  return created
}

const TROUBLES = ['process-kill', 'process-kill', 'process-pause', 'process-pause', 'clock-jump'] as const

type InjectTroubleOptions = {
  injector: ReturnType<typeof newFaultInjector>
  processes: SimulatedProcess[]
  durationMs: number
}

async function injectTrouble(kernel: Kernel, { injector, processes, durationMs }: InjectTroubleOptions): Promise<void> {
  while (kernel.now() < durationMs) {
    await kernel.delay(kernel.between(500, 6_000))
    const alive = processes.filter((process) => process.isAlive)
    if (alive.length === 0) continue
    const victim = kernel.pick(alive)
    const trouble = kernel.pick(TROUBLES)
    // Longer than any lease or approval, and short enough that its timestamps still expire within the day.
    const jump = kernel.pick([-120_000, 120_000, -5_000, 5_000])
    const pause = kernel.chance(0.3) ? kernel.between(500, 9_000) : kernel.between(LEASE_MS, LEASE_MS + 8_000)
    if (!injector.strikes(trouble)) continue
    if (trouble === 'process-kill') victim.kill('trouble')
    if (trouble === 'process-pause') victim.pause(pause)
    if (trouble === 'clock-jump') victim.jumpClock(jump)
  }
}
