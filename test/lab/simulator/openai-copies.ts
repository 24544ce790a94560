import { DatabaseSync } from 'node:sqlite'
import { sha256 } from '../../../src/config/sha256.ts'
import { DAY_MS, HOUR_MS } from '../../../src/core/duration.ts'
import { DEFAULT_ORGANIZATION } from '../../../src/core/id.ts'
import { Problem } from '../../../src/core/problem.ts'
import type { Clock } from '../../../src/ports/clock.ts'
import type { Store } from '../../../src/ports/store.ts'
import { acceptOpenaiRequest } from '../../../src/service/openai/accept-request.ts'
import type { ConversationSource } from '../../../src/service/openai/place-conversation.ts'
import type { ServiceContext } from '../../../src/service/service-context.ts'
import { shareSqliteStore } from '../../../src/storage/sqlite.ts'
import { seededFraction } from '../../harness/seeded.ts'
import { newStubContext, noCredentials, stubEngineDeps } from '../../harness/stubs.ts'

const REQUESTS = 12
const MOST_COPIES = 5

const SOURCES: readonly ConversationSource[] = [
  { type: 'none' },
  { type: 'once' },
  { type: 'name', by: 'user', name: 'anna', sendsHistory: false },
  { type: 'name', by: 'open-webui', name: 'chat', sendsHistory: true },
]

/**
 * Requests of OpenAI's client to two servers with one database: the servers die before and after commits, answers are lost,
 * and the client sends copies while an earlier one may still be under way. Each request must have one run. The same text
 * as a new request is a new run. Runs are opened and end; no turn is carried out.
 */
export async function runOpenaiCopies(seed: number): Promise<{ violations: string[]; copies: number }> {
  const fraction = seededFraction(seed ^ 0x0a1)
  const chance = (probability: number) => fraction() < probability
  let now = Date.UTC(2026, 2, 20)
  let ids = 0
  const uuid = () =>
    `${seed.toString(16).padStart(8, '0').slice(-8)}-0000-4000-8000-${(++ids).toString(16).padStart(12, '0')}`
  const database = new DatabaseSync(':memory:')
  const violations: string[] = []
  const clock: Clock = {
    // Each look is later: the order of arrivals counts.
    now: () => ++now,
    monotonic: () => now,
    sleep: async () => undefined,
    every: () => () => undefined,
    soon: (task) => void setImmediate(task),
  }

  /** A store call of a dead server has no effect, and others come between the calls of one request. */
  async function boot(): Promise<{ isAlive: boolean; context: ServiceContext }> {
    const server = { isAlive: true, context: undefined as unknown as ServiceContext }
    const { store: whole, snapshot } = await shareSqliteStore({ database, clock, ownership: 'peer' })
    const mortal =
      <Parameters extends unknown[], T>(work: (...parameters: Parameters) => Promise<T>) =>
      async (...parameters: Parameters): Promise<T> => {
        const step = async () => {
          for (let rest = Math.floor(fraction() * 4); rest > 0; rest--) await new Promise(setImmediate)
          if (chance(0.04)) server.isAlive = false
          if (!server.isAlive) throw new Error('killed')
        }
        await step()
        const result = await work(...parameters)
        await step()
        return result
      }
    const { conversations, openai, runs } = whole
    const store: Store = {
      ...whole,
      conversations: { ...conversations, create: mortal(conversations.create), get: mortal(conversations.get) },
      openai: { ...openai, place: mortal(openai.place) },
      runs: { ...runs, open: mortal(runs.open), findByFingerprint: mortal(runs.findByFingerprint) },
    }
    const dispatcher = { reserve: () => undefined, wake: () => {}, notify: () => {}, running: () => [] }
    server.context = newStubContext({
      deps: {
        ...stubEngineDeps(),
        store,
        clock,
        report: (fault: unknown) => violations.push(`an internal error: ${String(fault)}`),
        digest: sha256,
        credentials: noCredentials,
        randomness: { uuid, fraction },
      } as unknown as ServiceContext['deps'],
      engine: { dispatcher, workerId: `worker-${uuid()}` } as unknown as NonNullable<ServiceContext['engine']>,
      snapshot,
      defaults: { model: 'test/model', maxSteps: 10, maxDurationMs: HOUR_MS, approvalTtlMs: DAY_MS },
    })
    return server
  }

  const servers = [await boot(), await boot()]
  const agent = {
    id: `agent-${uuid()}` as const,
    organizationId: DEFAULT_ORGANIZATION,
    name: 'ada',
    system: '',
    model: 'test/model' as const,
    fallback: [],
    tools: [],
    createdAt: now,
    updatedAt: now,
  }
  const { store } = await shareSqliteStore({ database, clock, ownership: 'peer' })
  await store.agents.create(agent, `conv-${uuid()}`)

  /** One copy at a server; undefined if no answer came back. */
  async function send(text: string, source: ConversationSource, isRetry: boolean): Promise<string | undefined> {
    const at = clock.now()
    const index = Math.floor(fraction() * servers.length)
    if (!servers[index]!.isAlive) servers[index] = await boot()
    const server = servers[index]!
    try {
      const { runId } = await acceptOpenaiRequest(
        {
          agent,
          source,
          copies: { fingerprint: sha256(`${text} ${JSON.stringify(source)}`), isRetry, at },
          messages: [{ role: 'user', at: 0, content: [{ type: 'text', text }] }],
          repeatsHistory: true,
          policy: 'queue',
          options: {},
        },
        server.context,
      )
      return chance(0.3) ? undefined : runId
    } catch (fault) {
      if (server.isAlive) violations.push(`"${text}" was refused: ${fault instanceof Problem ? fault.message : fault}`)
      return undefined
    }
  }

  let copies = 0
  const endRuns = database.prepare(
    "update runs set status = 'completed', stop_reason = 'end_turn' where status = 'created'",
  )
  /** The runs of the last request. */
  let before = new Set<string>()
  let fewest = 0
  let asked: { text: string; source: ConversationSource } = { text: '', source: SOURCES[0]! }
  for (let index = 0; index < REQUESTS; index++) {
    // Sometimes the same body again, as a new request.
    const isRepeat = index > 0 && chance(0.2)
    if (!isRepeat) asked = { text: `message ${index}`, source: SOURCES[(index + seed) % SOURCES.length]! }
    const { text, source } = asked
    if (!isRepeat) fewest += 1
    const under: Promise<string | undefined>[] = [send(text, source, false)]
    // The client waits, or its connection is cut and it sends a copy while the first is under way.
    for (let copy = 1; copy < MOST_COPIES; copy++) {
      if (chance(0.5)) await Promise.all(under)
      else await new Promise(setImmediate)
      if (chance(0.6)) under.push(send(text, source, true))
    }
    await Promise.all(under)
    // The last copy gets an answer.
    let answer: string | undefined
    while (answer === undefined) answer = await send(text, source, true)
    copies += under.length
    const answers = new Set([...(await Promise.all(under)).filter((runId) => runId !== undefined), answer])
    const original = await under[0]
    // A retry of a repeated body may belong to either request; its original is a new turn in any case.
    if (isRepeat && original !== undefined && before.has(original))
      violations.push(`the new request "${text}" got ${original}, the run of the one before`)
    if (!isRepeat && answers.size > 1)
      violations.push(`copies of "${text}" have the runs ${[...answers].join(' and ')}`)
    before = new Set(isRepeat ? [...before, ...answers] : answers)
    if (chance(0.5)) endRuns.run()
  }
  const runs = Number(database.prepare('select count(*) as count from runs').get()?.count)
  if (runs < fewest || runs > REQUESTS)
    violations.push(`${REQUESTS} requests, ${fewest} of them different, have ${runs} runs`)
  database.close()
  return { violations, copies }
}
