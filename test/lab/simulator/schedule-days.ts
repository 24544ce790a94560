import { DatabaseSync } from 'node:sqlite'
import { sha256 } from '../../../src/config/sha256.ts'
import { defined } from '../../../src/core/defined.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/core/duration.ts'
import { type ConversationId, DEFAULT_ORGANIZATION } from '../../../src/core/id.ts'
import { checkSchedule } from '../../../src/core/invariants/all.ts'
import { firstInstant, nextInstant, type Schedule, type ScheduleTiming } from '../../../src/core/schedule.ts'
import type { Clock } from '../../../src/ports/clock.ts'
import type { Store } from '../../../src/ports/store.ts'
import { createConversation } from '../../../src/service/conversations/conversations.ts'
import { newOpening } from '../../../src/service/messages/send-message.ts'
import { createSchedule, pauseSchedule, runScheduleNow } from '../../../src/service/schedules/schedules.ts'
import { settleSchedules } from '../../../src/service/schedules/settle-schedules.ts'
import type { ServiceContext } from '../../../src/service/service-context.ts'
import { shareSqliteStore } from '../../../src/storage/sqlite.ts'
import { seededFraction } from '../../harness/seeded.ts'
import { newStubContext, noCredentials, stubEngineDeps } from '../../harness/stubs.ts'

/** A spring, so that clocks are set forward, and an autumn, so that they are set back. */
const STARTS = [Date.UTC(2026, 2, 20), Date.UTC(2026, 9, 16)]
const STEPS = 40
/** Over more conversations than this a person is rarely where a heartbeat is. */
const BEATS_UP_TO = 10

type ServiceServer = { context: ServiceContext }

const TIMINGS: readonly ((start: number) => ScheduleTiming)[] = [
  (start) => ({ type: 'once', at: start + 5 * DAY_MS }),
  (start) => ({ type: 'interval', everyMs: 7 * HOUR_MS, from: start + HOUR_MS }),
  (start) => ({ type: 'interval', everyMs: 50 * MINUTE_MS, from: start + HOUR_MS }),
  () => ({ type: 'cron', expression: '30 2 * * *', timezone: 'Europe/Berlin' }),
  () => ({ type: 'cron', expression: '0 */5 * * *', timezone: 'America/New_York' }),
  () => ({ type: 'cron', expression: '20 * * * *', timezone: 'Europe/Berlin' }),
]

/** Some a week and some a month: for many schedules over a long time. */
const SPARSE: typeof TIMINGS = [
  (start) => ({ type: 'once', at: start + 200 * DAY_MS }),
  (start) => ({ type: 'interval', everyMs: 3 * DAY_MS, from: start + HOUR_MS }),
  () => ({ type: 'cron', expression: '30 2 * * *', timezone: 'Europe/Berlin' }),
  () => ({ type: 'cron', expression: '0 9 * * mon', timezone: 'America/New_York' }),
  () => ({ type: 'cron', expression: '15 1 1 * *', timezone: 'Australia/Lord_Howe' }),
]

/** Some a month and some a year, for a whole year in which most fire. */
const RARE: typeof TIMINGS = [
  (start) => ({ type: 'once', at: start + 200 * DAY_MS }),
  (start) => ({ type: 'interval', everyMs: 30 * DAY_MS, from: start + HOUR_MS }),
  () => ({ type: 'cron', expression: '30 2 15 * *', timezone: 'Europe/Berlin' }),
  () => ({ type: 'cron', expression: '0 9 1 * *', timezone: 'America/New_York' }),
  () => ({ type: 'cron', expression: '15 1 1 1,4,7,10 *', timezone: 'Australia/Lord_Howe' }),
]

const PLANS = {
  dense: { timings: TIMINGS, graces: [MINUTE_MS, HOUR_MS, 12 * HOUR_MS] },
  sparse: { timings: SPARSE, graces: [MINUTE_MS, HOUR_MS, 12 * HOUR_MS] },
  rare: { timings: RARE, graces: [12 * HOUR_MS, DAY_MS, 3 * DAY_MS] },
}

export type ScheduleDays = {
  schedules?: number
  steps?: number
  longestStepMs?: number
  plan?: keyof typeof PLANS
  /** How many conversations they are spread over: the queue of each one is bounded. */
  conversations?: number
}

/**
 * Several weeks of schedules on two servers with one database: they die before and after commits, sleep, and have clocks
 * that jump. Returns what is wrong at the end. The runs are opened and end; no turn is carried out.
 */
export async function runScheduleDays(
  seed: number,
  {
    schedules: amount = 4,
    steps = STEPS,
    longestStepMs = DAY_MS,
    plan = 'dense',
    conversations = 2,
  }: ScheduleDays = {},
): Promise<{ violations: string[]; instants: number; fired: number; days: number }> {
  const { timings, graces } = PLANS[plan]
  const fraction = seededFraction(seed ^ 0x5eed)
  const chance = (probability: number) => fraction() < probability
  const pick = <T>(items: readonly T[]): T => items[Math.floor(fraction() * items.length)]!
  const start = pick(STARTS)
  let now = start
  let ids = 0
  const uuid = () =>
    `${seed.toString(16).padStart(8, '0').slice(-8)}-0000-4000-8000-${(++ids).toString(16).padStart(12, '0')}`
  const database = new DatabaseSync(':memory:')
  const violations: string[] = []

  /** A server with a clock of its own. A store call after its death has no effect. */
  async function boot() {
    const server = { skew: 0, isAlive: true, mayDie: false, context: undefined as unknown as ServiceContext }
    const clock: Clock = {
      now: () => now + server.skew,
      monotonic: () => now,
      sleep: async () => undefined,
      every: () => () => undefined,
      soon: (task) => void setImmediate(task),
    }
    const { store: whole, snapshot, chunks } = await shareSqliteStore({ database, clock, ownership: 'peer' })
    const mortal =
      <Parameters extends unknown[], T>(work: (...parameters: Parameters) => Promise<T>) =>
      async (...parameters: Parameters): Promise<T> => {
        const dies = (): never => {
          server.isAlive = false
          throw new Error('killed')
        }
        if (!server.isAlive || (server.mayDie && chance(0.03))) dies()
        const result = await work(...parameters)
        if (!server.isAlive || (server.mayDie && chance(0.03))) dies()
        return result
      }
    const store: Store = {
      ...whole,
      schedules: { ...whole.schedules, settle: mortal(whole.schedules.settle) },
      runs: { ...whole.runs, open: mortal(whole.runs.open) },
    }
    const report = (fault: unknown) => {
      if (server.isAlive) violations.push(`an internal error: ${fault instanceof Error ? fault.stack : fault}`)
    }
    const deps = { ...stubEngineDeps(), store, clock, report, digest: sha256, credentials: noCredentials }
    server.context = newStubContext({
      deps: { ...deps, randomness: { uuid, fraction } } as unknown as ServiceContext['deps'],
      snapshot,
      defaults: { model: 'test/model', maxSteps: 10, maxDurationMs: HOUR_MS, approvalTtlMs: DAY_MS },
    })
    return { server, chunks }
  }

  const servers = [(await boot()).server, (await boot()).server]
  const { store } = (await boot()).server.context.deps
  const agent = {
    id: `agent-${uuid()}` as const,
    organizationId: DEFAULT_ORGANIZATION,
    name: 'clockwork',
    system: '',
    model: 'test/model' as const,
    fallback: [],
    tools: [],
    createdAt: start,
    updatedAt: start,
  }
  const conversationIds: ConversationId[] = [`conv-${uuid()}`]
  await store.agents.create(agent, conversationIds[0]!)
  // One more, for heartbeats alone.
  while (conversationIds.length <= conversations)
    conversationIds.push((await createConversation(agent, servers[0]!.context, { id: `conv-${uuid()}` })).id)
  const created: Schedule[] = []
  for (let index = 0; index < amount; index++)
    created.push(
      await createSchedule(
        {
          agent,
          timing: timings[(index + seed) % timings.length]!(start),
          inputs: [{ role: 'user', content: [{ type: 'text', text: 'tick' }] }],
          graceMs: pick(graces),
          coalesce: chance(0.7),
          conversationId: conversationIds[index % conversations]!,
          ...defined({
            quietHours: chance(0.3) ? { from: '22:00', to: '07:00', timezone: 'Europe/Berlin' } : undefined,
          }),
        },
        servers[0]!.context,
      ),
    )
  const beats = conversations > BEATS_UP_TO ? [] : [conversationIds[0]!, conversationIds.at(-1)!]
  for (const conversationId of beats)
    created.push(
      await createSchedule(
        {
          agent,
          conversationId,
          timing: { type: 'interval', everyMs: pick([30, 50, 120]) * MINUTE_MS, from: start + HOUR_MS },
          inputs: [{ role: 'user', content: [{ type: 'text', text: 'Anything?' }] }],
          graceMs: 12 * HOUR_MS,
          heartbeat: {
            restMs: pick([0, 30 * MINUTE_MS, 3 * HOUR_MS]),
            turnsPerDay: pick([1, 2, 5]),
            timezone: pick(['UTC', 'Europe/Berlin', 'Australia/Lord_Howe']),
          },
        },
        servers[0]!.context,
      ),
    )
  /** A person at a server, whose clock may be wrong; a server that dies gives an error. */
  const talk = async ({ context }: ServiceServer) => {
    const opening = newOpening(
      {
        agent,
        conversationId: pick(conversationIds),
        inputs: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }],
      },
      context,
    )
    await context.deps.store.runs.open({ ...opening, policy: 'queue' }).catch(() => undefined)
  }

  const settleAll = async (server: (typeof servers)[number]) => {
    while (server.isAlive && (await settleSchedules(server.context)) > 0) {}
  }
  const endRuns = database.prepare(
    "update runs set status = 'completed', stop_reason = 'end_turn', completed_at = ? where status = 'created'",
  )
  for (let step = 0; step < steps; step++) {
    now += chance(0.5) ? MINUTE_MS * Math.ceil(fraction() * 90) : Math.ceil(fraction() * longestStepMs)
    for (const [index, server] of servers.entries()) {
      if (!server.isAlive) servers[index] = (await boot()).server
      if (chance(0.08)) server.skew = pick([0, 0, DAY_MS, -DAY_MS, 45_000])
      server.mayDie = true
    }
    if (chance(0.08)) await pauseSchedule(pick(created).id, { isPaused: chance(0.5) }, servers[0]!.context)
    // A person at a server that dies gets an error.
    if (chance(0.05)) await runScheduleNow(pick(created).id, {}, servers[1]!.context).catch(() => undefined)
    if (beats.length > 0 && chance(0.2)) await talk(pick(servers))
    if (chance(0.5)) endRuns.run(now)
    if (chance(0.8)) await Promise.all(servers.filter(() => chance(0.8)).map(settleAll))
    if (chance(0.8)) endRuns.run(now)
  }
  for (const { id } of created) await pauseSchedule(id, { isPaused: false }, (await boot()).server.context)
  const last = (await boot()).server
  last.skew = 3 * DAY_MS
  await settleAll(last)
  endRuns.run(now)

  let instants = 0
  let fired = 0
  for await (const record of last.context.snapshot.schedules()) {
    violations.push(...checkSchedule(record).map(({ invariant, where, detail }) => `${invariant} ${where}: ${detail}`))
    const { schedule, instants: settled } = record
    if (schedule.nextAt !== undefined && schedule.nextAt <= last.context.deps.clock.now())
      violations.push(`${schedule.id} is due since ${new Date(schedule.nextAt).toISOString()}`)
    // The whole plan, time zones included: each instant is in exactly one row, and in order.
    let expected = firstInstant(schedule, start)
    for (const { instant, lastInstant, count } of settled) {
      let walked = 0
      if (instant !== expected) violations.push(`${schedule.id}: ${instant} follows, not ${expected}`)
      for (let at: number | undefined = instant; at !== undefined && at <= lastInstant; at = nextInstant(schedule, at))
        walked++
      if (walked !== count) violations.push(`${schedule.id}: ${walked} instants are counted as ${count}`)
      expected = nextInstant(schedule, lastInstant)
      instants += count
    }
    if (expected !== schedule.nextAt) violations.push(`${schedule.id}: ${schedule.nextAt} is next, not ${expected}`)
    fired += settled.filter(({ outcome }) => outcome === 'fired').length
  }
  violations.push(...runsWithoutInstant(database))
  database.close()
  return { violations, instants, fired, days: Math.round((now - start) / DAY_MS) }
}

/** Every run of a schedule belongs to an instant that says so, and no two to the same. */
function runsWithoutInstant(database: DatabaseSync): string[] {
  const rows = database.prepare(
    `select runs.id as id from runs where metadata like '%schedule_id%' and not exists
      (select 1 from schedule_instants where schedule_instants.run_id = runs.id and outcome = 'fired')`,
  )
  return rows.all().map(({ id }) => `${id} was fired, and no instant has it`)
}
