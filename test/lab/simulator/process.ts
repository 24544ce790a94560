import type { DatabaseSync } from 'node:sqlite'
import { sha256 } from '../../../src/config/sha256.ts'
import { DEFAULT_ORGANIZATION } from '../../../src/core/id.ts'
import { type Engine, startEngine } from '../../../src/engine/engine.ts'
import type { World } from '../../../src/engine/world.ts'
import { newStreams } from '../../../src/live/streams.ts'
import type { Clock } from '../../../src/ports/clock.ts'
import { noCredentials } from '../../../src/providers/no-credentials.ts'
import type { Desk } from '../../../src/service/desk.ts'
import { shareSqliteStore } from '../../../src/storage/sqlite.ts'
import { toolRegistry } from '../../../src/tools/registry.ts'
import { mortal, newLife } from '../../harness/mortal.ts'
import type { Weather } from './faults.ts'
import type { Kernel } from './kernel.ts'
import { simulatedModel } from './model.ts'
import { type Outside, simulatedTools } from './tools.ts'
import { type Observer, unreliableChunks, unreliableStore } from './unreliable-store.ts'

/** A server in the simulation: its own memory and clock, the shared database, and a life that can end at any event. */
export type SimulatedProcess = {
  name: string
  readonly isAlive: boolean
  desk: Desk
  engine: Engine
  kill(why: string): void
  /** Nothing in it happens for so long: a garbage collection, a laptop lid, SIGSTOP. */
  pause(ms: number): void
  jumpClock(ms: number): void
  /** As a time server would. */
  setClockRight(): void
}

export type ProcessParts = {
  name: string
  kernel: Kernel
  weather: Weather
  database: DatabaseSync
  observer: Observer
  outside: Outside
  onDeath(name: string): void
}

export async function startProcess(parts: ProcessParts): Promise<SimulatedProcess> {
  const { name, kernel, weather, database, observer, outside, onDeath } = parts
  const life = newLife()
  let pausedUntil = 0
  let skew = 0

  /** A continuation of this process: not while it is paused, never after its death. */
  const inside = (task: () => void) => {
    if (!life.isAlive) return
    if (kernel.now() < pausedUntil) kernel.after(pausedUntil - kernel.now() + 1, () => inside(task))
    else task()
  }
  const kill = (why: string) => {
    if (!life.isAlive) return
    kernel.tell(`${name} is killed: ${why}`)
    life.kill()
    onDeath(name)
  }
  const clock: Clock = simulatedClock(kernel, { inside, skew: () => skew })
  const place = { name, kernel, weather, observer, life, inside, kill }

  const shared = await shareSqliteStore({ database, clock, standing: 'peer' })
  const store = unreliableStore(shared.store, place)
  const chunks = unreliableChunks(shared.chunks, place)
  const report = (fault: unknown, where: string) => observer.report(name, fault, where)
  const world: World = {
    store: mortal(store, life),
    streams: newStreams({ chunks: mortal(chunks, life), clock, report }),
    credentials: noCredentials,
    models: simulatedModel({ kernel, weather, clock, observer, name }),
    tools: toolRegistry(simulatedTools({ kernel, weather, clock, outside, kill, name, observer })),
    spill: { save: async (callId) => `spill/${callId}` },
    clock,
    randomness: { uuid: kernel.uuid, fraction: kernel.fraction },
    digest: sha256,
    report,
  }
  const engine = await startEngine(world, { maxRunning: 4 })
  const desk: Desk = {
    world,
    engine,
    snapshot: shared.snapshot,
    defaults: { maxSteps: 6, maxDurationMs: 300_000, approvalTtlMs: 60_000 },
    organizationId: DEFAULT_ORGANIZATION,
  }
  kernel.tell(`${name} starts as ${engine.workerId.slice(0, 15)}`)
  return {
    name,
    get isAlive() {
      return life.isAlive
    },
    desk,
    engine,
    kill,
    pause(ms) {
      kernel.tell(`${name} is paused for ${ms} ms`)
      pausedUntil = kernel.now() + ms
    },
    jumpClock(ms) {
      kernel.tell(`the clock of ${name} jumps by ${ms} ms`)
      skew += ms
    },
    setClockRight() {
      skew = 0
    },
  }
}

/** The day of the simulation begins here; only differences matter. */
export const EPOCH = Date.UTC(2026, 0, 1)

type ClockParts = { inside(task: () => void): void; skew(): number }

function simulatedClock(kernel: Kernel, { inside, skew }: ClockParts): Clock {
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
        // Polls for writes of other processes find nothing here (they are told); they would only cost events.
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
