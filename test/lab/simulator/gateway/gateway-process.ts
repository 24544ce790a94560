import type { DatabaseSync } from 'node:sqlite'
import { sha256 } from '../../../../src/config/sha256.ts'
import { startEngine } from '../../../../src/engine/engine.ts'
import type { EngineDeps } from '../../../../src/engine/engine-deps.ts'
import { newHistoryCache } from '../../../../src/engine/history-cache.ts'
import { startGateway } from '../../../../src/gateway/gateway.ts'
import { newStreams } from '../../../../src/live/streams.ts'
import { StorageError } from '../../../../src/ports/storage-error.ts'
import type { Store } from '../../../../src/ports/store.ts'
import { modelsFrom } from '../../../../src/providers/models.ts'
import { lastInput } from '../../../../src/providers/scripted/current-turn.ts'
import { newScriptedProvider } from '../../../../src/providers/scripted/script.ts'
import type { ServiceContext } from '../../../../src/service/service-context.ts'
import { shareSqliteStore } from '../../../../src/storage/sqlite.ts'
import { toolRegistry } from '../../../../src/tools/registry.ts'
import { killable, newKillSwitch } from '../../../harness/killable.ts'
import { newStubContext, noCredentials, stubEngineDeps } from '../../../harness/stubs.ts'
import { tool } from '../../../harness/tools.ts'
import type { Kernel } from '../kernel.ts'
import { simulatedClock } from '../process.ts'
import type { SimulatedPlatform } from './simulated-platform.ts'

export type GatewayProcess = {
  readonly isAlive: boolean
  context: ServiceContext
  kill(why: string): void
  pause(ms: number): void
}

export type GatewayProcessDeps = {
  name: string
  kernel: Kernel
  database: DatabaseSync
  platform: SimulatedPlatform
  /** Whether calls to the store may fail now. */
  hasStoreFaults(): boolean
  posted(to: string): void
  report(fault: unknown, where: string): void
  onDeath(): void
}

/** A server with a gateway, its own memory and clock, on a shared database and a shared platform. */
export async function startGatewayProcess(parts: GatewayProcessDeps): Promise<GatewayProcess> {
  const { name, kernel, database, platform, posted, report, onDeath } = parts
  const life = newKillSwitch()
  let pausedUntil = 0
  const inside = (task: () => void) => {
    if (!life.isAlive) return
    if (kernel.now() < pausedUntil) kernel.after(pausedUntil - kernel.now() + 1, () => inside(task))
    else task()
  }
  const kill = (why: string) => {
    if (!life.isAlive) return
    kernel.log(`${name} is killed ${why}`)
    life.kill()
    onDeath()
  }
  const clock = simulatedClock(kernel, { inside, skew: () => 0 })
  const shared = await shareSqliteStore({ database, clock, ownership: 'peer' })
  const store = killable(withFaults(shared.store, { ...parts, inside }), life)
  const provider = newScriptedProvider({ clock, scriptFor: ({ messages }) => scriptFor(lastInput(messages)) })
  const post = tool(
    'post',
    (input) => {
      posted(String((input as { to?: unknown }).to))
      return { status: 'success', output: 'posted' }
    },
    { needsApproval: true, effects: 'idempotent' },
  )
  const deps: EngineDeps = {
    ...stubEngineDeps(),
    store,
    streams: newStreams({ chunks: killable(shared.chunks, life), clock, report }),
    historyCache: newHistoryCache({ limits: { entries: 10, bytes: 1e9, idleMs: 60_000 }, clock }),
    credentials: noCredentials,
    models: modelsFrom({ test: provider }),
    tools: toolRegistry([post]),
    spill: { of: () => ({ save: async (callId) => `spill/${callId}` }) },
    clock,
    randomness: { uuid: kernel.uuid, fraction: kernel.fraction },
    digest: sha256,
    report,
  }
  const engine = await startEngine(deps, { maxRunning: 4 })
  const defaults = { model: 'test/model' as const, maxSteps: 6, maxDurationMs: 300_000, approvalTtlMs: 3_600_000 }
  const context = newStubContext({ deps, engine, snapshot: shared.snapshot, defaults })
  startGateway({
    accounts: { bot: platform.settings },
    context,
    open: platform.openFor({ isAlive: () => life.isAlive, inside, kill }),
  })
  return {
    get isAlive() {
      return life.isAlive
    },
    context,
    kill,
    pause(ms) {
      kernel.log(`${name} is paused for ${ms} ms`)
      pausedUntil = kernel.now() + ms
    },
  }
}

/** `post …` has a call that needs approval; every other message is repeated, `slow …` bit by bit. */
function scriptFor(input: string) {
  // In groups the message says who wrote it, and in a thread what was said before.
  const said = input.replace(/^(\[(message from|earlier messages) .*\]\n+)+/, '')
  const [, to] = /^post (.+)$/.exec(said) ?? []
  const isSlow = said.startsWith('slow ')
  const pace = { chunkSize: 5, delayMs: 900 }
  if (to === undefined) return [isSlow ? { text: `You said: ${said}`, pace } : { text: `You said: ${said}` }]
  return [{ text: `May I? ${said}`, calls: [{ tool: 'post', input: { to } }] }, { text: `Done: ${said}` }]
}

type FaultyParts = Pick<GatewayProcessDeps, 'kernel' | 'hasStoreFaults'> & { inside(task: () => void): void }

/** Calls to the store of the gateway take time, and fail before or after their commit. */
function withFaults(store: Store, { kernel, hasStoreFaults, inside }: FaultyParts): Store {
  const later = (ms: number) => new Promise<void>((resolve) => void kernel.after(ms, () => inside(resolve)))
  const gateway = Object.fromEntries(
    Object.entries(store.gateway).map(([method, work]) => [
      method,
      async (...given: unknown[]) => {
        await later(kernel.between(0, 3))
        if (hasStoreFaults() && kernel.chance(0.02)) throw new StorageError('unreachable', 'no connection')
        const result = await (work as (...parameters: unknown[]) => Promise<unknown>)(...given)
        await later(kernel.between(0, 3))
        if (hasStoreFaults() && kernel.chance(0.02)) throw new StorageError('outcome-unknown', 'the answer was lost')
        return result
      },
    ]),
  )
  return { ...store, gateway: gateway as Store['gateway'] }
}
