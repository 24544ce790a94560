import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { realClock } from '../../src/config/real-clock.ts'
import { realRandomness } from '../../src/config/real-randomness.ts'
import { sha256 } from '../../src/config/sha256.ts'
import type { Agent } from '../../src/core/agent.ts'
import type { Chunk } from '../../src/core/chunk.ts'
import { defined } from '../../src/core/defined.ts'
import type { TurnEvent } from '../../src/core/event.ts'
import { historyFaults, toModelHistory } from '../../src/core/history.ts'
import { type ConversationId, DEFAULT_ORGANIZATION, type RunId } from '../../src/core/id.ts'
import type { Message } from '../../src/core/message.ts'
import type { Run } from '../../src/core/run.ts'
import { startEngine } from '../../src/engine/engine.ts'
import type { EngineDeps } from '../../src/engine/engine-deps.ts'
import { newHistoryCache } from '../../src/engine/history-cache.ts'
import { newStreams } from '../../src/live/streams.ts'
import type { Clock } from '../../src/ports/clock.ts'
import type { Credentials } from '../../src/ports/credentials.ts'
import type { ModelProvider, ModelRequest } from '../../src/ports/model.ts'
import type { Store } from '../../src/ports/store.ts'
import type { Tool } from '../../src/ports/tool.ts'
import { modelsFrom } from '../../src/providers/models.ts'
import { newScriptedProvider, type Script } from '../../src/providers/scripted/script.ts'
import { createAgent } from '../../src/service/agents/create-agent.ts'
import { type SendMessageRequest, sendMessage } from '../../src/service/messages/send-message.ts'
import { waitForRun, watchRun } from '../../src/service/runs/watch-run.ts'
import type { ServiceContext } from '../../src/service/service-context.ts'
import { openSqliteStore } from '../../src/storage/sqlite.ts'
import { fileSpill } from '../../src/tools/file-spill.ts'
import { toolRegistry } from '../../src/tools/registry.ts'
import { killable, killableClock, newKillSwitch } from './killable.ts'
import { newStubContext, noCredentials, stubEngineDeps } from './stubs.ts'

export type HomeFixtureOptions = {
  /** What the model does; a function is called with every request. */
  script?: Script | ((request: ModelRequest) => Script)
  tools?: Tool[]
  providers?: (clock: Clock) => Record<string, ModelProvider>
  /** Keys and tokens, on the store of each process. Default: providers need none. */
  credentials?: (parts: { store: Store; clock: Clock; home: string }) => Credentials
  /** Intercepts the calls of a process to its store. */
  wrapStore?: (store: Store) => Store
  model?: string
  fallback?: string[]
  clock?: Clock
  maxRunning?: number
  /** How many conversations are cached between their turns. */
  cacheEntries?: number
  defaults?: Partial<ServiceContext['defaults']>
  workspaces?: ServiceContext['workspaces']
  /** Replaces engine dependencies of each process. */
  deps?: Partial<EngineDeps>
}

/** A home with one agent, run by one process after the other. */
export type HomeFixture = {
  home: string
  agent: Agent
  conversationId: ConversationId
  /** The service context of the current process. */
  readonly context: ServiceContext
  /** The faults that were reported. */
  faults: unknown[]
  requests: ModelRequest[]
  send(text: string, options?: Partial<SendMessageRequest>): Promise<RunId>
  /** Sends and waits until the run ends or waits for approval. */
  ask(text: string, options?: Partial<SendMessageRequest>): Promise<Run>
  get(runId: RunId): Promise<Run>
  wait(runId: RunId): Promise<Run>
  events(runId: RunId): Promise<TurnEvent[]>
  messages(): Promise<Message[]>
  chunks(runId: RunId, after?: number): Promise<Chunk[]>
  /** Kills the process as kill -9 does. */
  crash(): Promise<void>
  /** Starts the next process on the same home. */
  restart(): Promise<void>
  /** Graceful shutdown, as after a signal: leases are handed back. */
  stop(): Promise<void>
}

export async function openHomeFixture(context: TestContext, options: HomeFixtureOptions = {}): Promise<HomeFixture> {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-home-'))
  const clock = options.clock ?? realClock
  const faults: unknown[] = []
  const requests: ModelRequest[] = []
  let process = await startProcess()
  const agent = await createAgent(
    {
      name: 'keeper',
      model: options.model ?? 'test/model',
      fallback: options.fallback ?? [],
      tools: (options.tools ?? []).map((tool) => tool.name),
    },
    process.context,
  )
  const conversation = await process.context.deps.store.conversations.defaultOf(DEFAULT_ORGANIZATION, agent.id)
  assert.ok(conversation)
  const conversationId = conversation.id

  context.after(async () => {
    await process.end('stop')
    rmSync(home, { recursive: true, force: true })
  })

  async function startProcess() {
    const opened = await openSqliteStore({ home, clock, durability: 'relaxed', role: 'owner' })
    const life = newKillSwitch()
    const processClock = killableClock(clock, life)
    const report = (fault: unknown) => void faults.push(fault)
    const { script } = options
    const provider = newScriptedProvider({
      clock: processClock,
      scriptFor: (request) => {
        requests.push(request)
        return typeof script === 'function' ? script(request) : (script ?? [])
      },
    })
    const deps: EngineDeps = {
      ...stubEngineDeps(),
      store: killable(options.wrapStore?.(opened.store) ?? opened.store, life),
      streams: newStreams({ chunks: killable(opened.chunks, life), clock: processClock, report }),
      historyCache: newHistoryCache({
        limits: { entries: options.cacheEntries ?? 128, bytes: 1e9, idleMs: 3_600_000 },
        clock: processClock,
      }),
      credentials: options.credentials
        ? killable(options.credentials({ store: killable(opened.store, life), clock: processClock, home }), life)
        : noCredentials,
      models: killable(modelsFrom({ test: provider, ...options.providers?.(clock) }), life),
      tools: toolRegistry(options.tools ?? []),
      spill: fileSpill(home),
      clock: processClock,
      randomness: realRandomness,
      digest: sha256,
      report,
      ...options.deps,
    }
    const engine = await startEngine(deps, { maxRunning: options.maxRunning ?? 8 })
    const defaults = {
      model: 'test/model' as const,
      maxSteps: 10,
      maxDurationMs: 3_600_000,
      approvalTtlMs: 7 * 86_400_000,
      ...options.defaults,
    }
    const current = newStubContext({
      deps,
      engine,
      snapshot: opened.snapshot,
      defaults,
      ...defined({ workspaces: options.workspaces }),
    })
    let isOver = false
    return {
      context: current,
      async end(how: 'stop' | 'kill') {
        if (isOver) return
        isOver = true
        if (how === 'stop') await engine.stop({ toolGraceMs: 0 })
        life.kill()
        await opened.chunks.close()
        await opened.store.close()
      },
    }
  }

  const fixture: HomeFixture = {
    home,
    agent,
    conversationId,
    faults,
    requests,
    get context() {
      return process.context
    },
    async send(text, more = {}) {
      const request = { agent, conversationId, content: [{ type: 'text' as const, text }], ...more }
      return (await sendMessage(request, process.context)).runId
    },
    async ask(text, more) {
      return waitForRun(await fixture.send(text, more), process.context)
    },
    wait: (runId) => waitForRun(runId, process.context),
    async get(runId) {
      const run = await process.context.deps.store.runs.get(DEFAULT_ORGANIZATION, runId)
      assert.ok(run)
      return run
    },
    events: async (runId) => (await process.context.deps.store.events.read(runId, 0)).map(({ event }) => event),
    messages: () => process.context.deps.store.messages.context(conversationId),
    async chunks(runId, after = 0) {
      const seen: Chunk[] = []
      const signal = AbortSignal.timeout(20_000)
      for await (const { chunk } of watchRun(runId, { after, signal }, process.context)) seen.push(chunk)
      return seen
    },
    crash: () => process.end('kill'),
    async restart() {
      await process.end('kill')
      process = await startProcess()
    },
    stop: () => process.end('stop'),
  }
  return fixture
}

/** Every provider dialect accepts the messages without repairs. */
export function assertValidHistory(messages: readonly Message[]): void {
  const bodies = messages.map((message) => message.body)
  assert.deepEqual(historyFaults(bodies.filter((body) => body.role !== 'approval')), [])
  assert.deepEqual(historyFaults(toModelHistory(bodies)), [])
  assert.deepEqual(
    messages.map((message) => message.position),
    messages.map((_, index) => index),
  )
}
