import type { DatabaseSync } from 'node:sqlite'
import { sha256 } from '../../../src/config/sha256.ts'
import { DEFAULT_ORGANIZATION } from '../../../src/core/id.ts'
import { type Engine, startEngine } from '../../../src/engine/engine.ts'
import type { EngineDeps } from '../../../src/engine/engine-deps.ts'
import { newHistoryCache } from '../../../src/engine/history-cache.ts'
import { newStreams } from '../../../src/live/streams.ts'
import type { Clock } from '../../../src/ports/clock.ts'
import type { Credentials } from '../../../src/ports/credentials.ts'
import { newCredentialPool } from '../../../src/providers/credentials/credential-pool.ts'
import type { ServiceContext } from '../../../src/service/service-context.ts'
import { shareSqliteStore } from '../../../src/storage/sqlite.ts'
import { newSourceTools } from '../../../src/tools/custom/source-tools.ts'
import { toolRegistry } from '../../../src/tools/registry.ts'
import { killable, newKillSwitch } from '../../harness/killable.ts'
import { newStubContext, noPackages, plainBox, stubEngineDeps } from '../../harness/stubs.ts'
import type { FaultInjector } from './faults.ts'
import type { Kernel } from './kernel.ts'
import { simulatedModels } from './model.ts'
import { simulatedProgram } from './remote-tools.ts'
import { type Sandboxes, SOURCE_SECONDS, SOURCE_TOOL } from './sandboxes.ts'
import type { Setup } from './setup.ts'
import type { TokenServer } from './token-server.ts'
import { type Outside, simulatedTools } from './tools.ts'
import { type Observer, unreliableChunks, unreliableStore } from './unreliable-store.ts'
import type { Vendors } from './vendors.ts'

/** A simulated server with its own memory and clock and a shared database. It can die at any event. */
export type SimulatedProcess = {
  name: string
  readonly isAlive: boolean
  context: ServiceContext
  engine: Engine
  kill(why: string): void
  /** Suspends the process: a garbage collection, a laptop lid, SIGSTOP. */
  pause(ms: number): void
  jumpClock(ms: number): void
  /** Corrects the clock, as NTP would. */
  setClockRight(): void
}

export type SimulatedProcessDeps = {
  name: string
  kernel: Kernel
  injector: FaultInjector
  database: DatabaseSync
  observer: Observer
  outside: Outside
  setup: Setup
  vendors: Vendors
  tokenServer: TokenServer
  sandboxes: Sandboxes
  /** How far the calendar is ahead of the simulation: nights are skipped. */
  nights(): number
  onDeath(name: string): void
}

/** Cache size of a process: none, one or all conversations. The behavior must be the same. */
const cacheEntriesOf = (name: string): number => [0, 1, 1_000][(name.codePointAt(name.length - 1) ?? 0) % 3]!

export async function startProcess(parts: SimulatedProcessDeps): Promise<SimulatedProcess> {
  const { name, kernel, injector, database, observer, outside, setup, vendors, tokenServer, sandboxes, onDeath } = parts
  const life = newKillSwitch()
  let pausedUntil = 0
  let skew = 0

  /** Runs a task inside this process: not while it is paused, never after its death. */
  const inside = (task: () => void) => {
    if (!life.isAlive) return
    if (kernel.now() < pausedUntil) kernel.after(pausedUntil - kernel.now() + 1, () => inside(task))
    else task()
  }
  const kill = (why: string) => {
    if (!life.isAlive) return
    kernel.log(`${name} is killed: ${why}`)
    life.kill()
    onDeath(name)
  }
  const clock: Clock = simulatedClock(kernel, { inside, skew: () => skew + parts.nights() })
  const host = { name, kernel, injector, observer, life, inside, kill }

  const shared = await shareSqliteStore({ database, clock, ownership: 'peer' })
  const store = unreliableStore(shared.store, host)
  const chunks = unreliableChunks(shared.chunks, host)
  const report = (fault: unknown, where: string) => observer.report(name, fault, where)
  const mortalStore = killable(store, life)
  const randomness = { uuid: kernel.uuid, fraction: kernel.fraction }
  const client = {
    name,
    inside,
    kill,
    get isAlive() {
      return life.isAlive
    },
    get isPaused() {
      return kernel.now() < pausedUntil
    },
  }
  const pool = newCredentialPool({
    organizationId: DEFAULT_ORGANIZATION,
    store: mortalStore,
    box: plainBox,
    clock,
    randomness,
    report,
    environment: vendors.environment,
    strategies: { sim: setup.strategy },
    flows: tokenServer.flowsFor(client),
  })
  const deps: EngineDeps = {
    ...stubEngineDeps(),
    mcp: {
      ...stubEngineDeps().mcp,
      call: simulatedProgram({ kernel, injector, clock, outside: outside.program, kill, name }),
    },
    store: mortalStore,
    streams: newStreams({ chunks: killable(chunks, life), clock, report }),
    historyCache: newHistoryCache({ limits: { entries: cacheEntriesOf(name), bytes: 1e9, idleMs: 60_000 }, clock }),
    credentials: observedPool(pool, { name, observer }),
    models: simulatedModels({ kernel, injector, clock, observer, vendors, setup, name }),
    tools: toolRegistry(
      simulatedTools({ kernel, injector, clock, outside, kill, name, observer, setup }).filter(
        (tool) => !(setup.hasSources && tool.name === SOURCE_TOOL),
      ),
    ),
    sources: sandboxes.observed(
      newSourceTools({
        workspaces: killable(sandboxes.workspaces, life),
        containment: 'bubblewrap',
        clock,
        digest: sha256,
        packages: noPackages,
        agentOf: async () => undefined,
        secretsOf: async () => ({}),
        blocksOf: async () => [],
        timeoutSeconds: SOURCE_SECONDS,
      }),
      { told: outside, process: name },
    ),
    spill: { of: () => ({ save: async (callId) => `spill/${callId}` }) },
    clock,
    randomness,
    digest: sha256,
    report,
  }
  const engine = await startEngine(deps, { maxRunning: setup.slots })
  const defaults = { model: 'test/model' as const, maxSteps: 6, maxDurationMs: 300_000, approvalTtlMs: 60_000 }
  const context = newStubContext({ deps, engine, snapshot: shared.snapshot, defaults })
  kernel.log(`${name} starts as ${engine.workerId.slice(0, 15)}`)
  return {
    name,
    get isAlive() {
      return life.isAlive
    },
    context,
    engine,
    kill,
    pause(ms) {
      kernel.log(`${name} is paused for ${ms} ms`)
      pausedUntil = kernel.now() + ms
    },
    jumpClock(ms) {
      kernel.log(`the clock of ${name} jumps by ${ms} ms`)
      skew += ms
    },
    setClockRight() {
      skew = 0
    },
  }
}

/** The pool of the product, observed: each choice is compared with the rows it was made from. */
function observedPool(pool: Credentials, { name, observer }: { name: string; observer: Observer }): Credentials {
  return {
    async choose(provider, options) {
      const before = observer.viewPool(provider)
      const choice = await pool.choose(provider, options)
      observer.chose(name, { provider, options, before, choice })
      return choice
    },
    refresh: (id, options) => pool.refresh(id, options),
  }
}

/** Start of a simulated day; only differences matter. */
export const EPOCH = Date.UTC(2026, 0, 1)

type SimulatedClockDeps = { inside(task: () => void): void; skew(): number }

export function simulatedClock(kernel: Kernel, { inside, skew }: SimulatedClockDeps): Clock {
  const sleep = (ms: number, signal?: AbortSignal) =>
    new Promise<void>((resolve) => {
      if (signal?.aborted) return resolve()
      const stop = kernel.after(ms, () => inside(done))
      function done() {
        stop()
        signal?.removeEventListener('abort', done)
        resolve()
      }
      signal?.addEventListener('abort', done)
    })
  return {
    now: () => EPOCH + kernel.now() + skew(),
    monotonic: () => kernel.now(),
    sleep,
    every(ms, task) {
      let isStopped = false
      const again = () => {
        // Polls for writes of other processes are not needed here: processes are notified.
        kernel.after(Math.max(ms, 1_000), () =>
          inside(() => {
            if (isStopped) return
            task()
            again()
          }),
        )
      }
      again()
      return () => {
        isStopped = true
      }
    },
    soon: (task) => void kernel.after(0, () => inside(task)),
  }
}
