import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { HOUR_MS, MINUTE_MS } from '../../src/core/duration.ts'
import type { Schedule, SettledInstant } from '../../src/core/schedule.ts'
import {
  createSchedule,
  deleteSchedule,
  type NewSchedule,
  pauseSchedule,
  requireSchedule,
  runScheduleNow,
  scheduleHistory,
} from '../../src/service/schedules/schedules.ts'
import { settleSchedules } from '../../src/service/schedules/settle-schedules.ts'
import type { ServiceContext } from '../../src/service/service-context.ts'
import { checkStore } from '../../src/service/store/check-store.ts'
import { type HomeFixture, openHomeFixture } from '../harness/fixture-home.ts'

const START = Date.UTC(2026, 0, 1)

type World = {
  home: HomeFixture
  /** The context of a server whose clock shows this many minutes after the start. */
  at(minutes: number): ServiceContext
  /** A server settles what is due at this time, and the runs end. */
  settleAt(minutes: number): Promise<void>
}

/** Turns take real time; only the schedules see the clock of the test. */
async function openWorld(context: TestContext): Promise<World> {
  const home = await openHomeFixture(context, { script: () => [{ text: 'done' }] })
  const at = (minutes: number): ServiceContext => {
    const { deps } = home.context
    const clock = { ...deps.clock, now: () => START + minutes * MINUTE_MS }
    return { ...home.context, deps: { ...deps, clock } }
  }
  return {
    home,
    at,
    async settleAt(minutes) {
      while ((await settleSchedules(at(minutes))) > 0) {}
      for (const run of await home.context.deps.store.runs.list(home.context.organizationId, {}, { limit: 1_000 }))
        await home.wait(run.id)
    },
  }
}

const schedule = ({ home, at }: World, more: Partial<NewSchedule> & Pick<NewSchedule, 'timing'>): Promise<Schedule> =>
  createSchedule(
    { agent: home.agent, inputs: [{ role: 'user', content: [{ type: 'text', text: 'tick' }] }], ...more },
    at(0),
  )

const historyOf = async ({ home }: World, { id }: Schedule): Promise<SettledInstant[]> =>
  (await scheduleHistory(id, { limit: 1_000 }, home.context)).reverse()

const brief = (all: SettledInstant[]) =>
  all.map(({ instant, count, outcome }) => [(instant - START) / MINUTE_MS, outcome, count])

test('each instant of an interval fires once, and its run says which schedule and instant it belongs to', async (t) => {
  const world = await openWorld(t)
  const { home, settleAt } = world
  const created = await schedule(world, {
    timing: { type: 'interval', everyMs: 10 * MINUTE_MS, from: START + 10 * MINUTE_MS },
  })
  for (const minutes of [5, 10, 11, 20, 29, 30, 35]) await settleAt(minutes)
  const history = await historyOf(world, created)
  assert.deepEqual(brief(history), [
    [10, 'fired', 1],
    [20, 'fired', 1],
    [30, 'fired', 1],
  ])
  const run = await home.get(history[0]!.runId!)
  assert.deepEqual(run.metadata, {
    run_type: 'schedule',
    schedule_id: created.id,
    scheduled_at: new Date(START + 10 * MINUTE_MS).toISOString(),
    on_guarded: 'deny',
  })
  const [first] = await home.events(run.id)
  assert.equal(first?.type === 'input-accepted' && first.settings.onGuarded, 'deny')
  assert.deepEqual((await checkStore(home.context)).violations, [])
})

test('after an absence, instants beyond the grace are missed, and of the others the last fires', async (t) => {
  const world = await openWorld(t)
  const created = await schedule(world, {
    timing: { type: 'interval', everyMs: 10 * MINUTE_MS, from: START + 10 * MINUTE_MS },
  })
  await world.settleAt(301)
  const history = await historyOf(world, created)
  assert.deepEqual(brief(history), [
    [10, 'missed', 24],
    [250, 'skipped', 5],
    [300, 'fired', 1],
  ])
  assert.match(history[0]!.reason!, /grace of 3600 s/)
  assert.equal((await requireSchedule(created.id, world.home.context)).nextAt, START + 310 * MINUTE_MS)
})

test('without coalescing every instant within the grace fires, in order', async (t) => {
  const world = await openWorld(t)
  const created = await schedule(world, {
    timing: { type: 'interval', everyMs: 10 * MINUTE_MS, from: START + 10 * MINUTE_MS },
    coalesce: false,
  })
  await world.settleAt(61)
  assert.deepEqual(
    brief(await historyOf(world, created)),
    [10, 20, 30, 40, 50, 60].map((at) => [at, 'fired', 1]),
  )
})

test('several servers, restarts and a clock that jumps by a day: every instant has one outcome', async (t) => {
  const world = await openWorld(t)
  const { home, at, settleAt } = world
  const created = await schedule(world, { timing: { type: 'cron', expression: '0 * * * *', timezone: 'UTC' } })
  // Several servers settle the same instants at once, and their clocks differ.
  for (const minutes of [60, 119, 120, 180])
    await Promise.all([settleSchedules(at(minutes)), settleSchedules(at(minutes + 0.5)), settleAt(minutes)])
  await home.restart()
  // The lid was closed for a day.
  await settleAt(180 + 24 * 60)
  // The clock is set back: what is settled stays so.
  await settleAt(180)
  for (const hour of [28, 29]) await settleAt(hour * 60)
  const history = await historyOf(world, created)
  assert.deepEqual(brief(history), [
    [60, 'fired', 1],
    [120, 'fired', 1],
    [180, 'fired', 1],
    [240, 'missed', 22],
    [26 * 60, 'skipped', 1],
    [27 * 60, 'fired', 1],
    [28 * 60, 'fired', 1],
    [29 * 60, 'fired', 1],
  ])
  assert.deepEqual((await checkStore(home.context)).violations, [])
})

test('quiet hours, a pause and the end are kept, each with its reason', async (t) => {
  const world = await openWorld(t)
  const { home, at, settleAt } = world
  const created = await schedule(world, {
    timing: { type: 'interval', everyMs: HOUR_MS, from: START + HOUR_MS },
    quietHours: { from: '02:00', to: '03:30', timezone: 'UTC' },
    endsAt: START + 8 * HOUR_MS,
  })
  for (const hour of [1, 2, 3, 4]) await settleAt(hour * 60)
  await pauseSchedule(created.id, { isPaused: true }, at(270))
  for (const hour of [5, 6]) await settleAt(hour * 60)
  await pauseSchedule(created.id, { isPaused: false }, at(390))
  for (const hour of [6.6, 7, 8, 9]) await settleAt(hour * 60)
  const history = await historyOf(world, created)
  assert.deepEqual(brief(history), [
    [60, 'fired', 1],
    [120, 'skipped', 1],
    [180, 'skipped', 1],
    [240, 'fired', 1],
    [300, 'skipped', 2],
    [420, 'fired', 1],
    [480, 'fired', 1],
  ])
  assert.match(history[1]!.reason!, /Quiet hours: 02:00 to 03:30/)
  assert.match(history[4]!.reason!, /paused/)
  assert.equal((await requireSchedule(created.id, home.context)).nextAt, undefined)
  assert.deepEqual((await checkStore(home.context)).violations, [])
})

test('run-now fires at once, also while paused, and leaves the timing alone', async (t) => {
  const world = await openWorld(t)
  const { home, at } = world
  const created = await schedule(world, { timing: { type: 'once', at: START + HOUR_MS } })
  await pauseSchedule(created.id, { isPaused: true }, home.context)
  const { runId } = await runScheduleNow(created.id, {}, at(1))
  await runScheduleNow(created.id, {}, at(1))
  await home.wait(runId)
  const history = await historyOf(world, created)
  assert.deepEqual(
    history.map(({ isManual, outcome }) => [isManual, outcome]),
    [
      [true, 'fired'],
      [true, 'fired'],
    ],
  )
  assert.equal((await requireSchedule(created.id, home.context)).nextAt, START + HOUR_MS)
  await deleteSchedule(created.id, home.context)
  assert.equal((await home.get(runId)).status, 'completed')
})

test('what cannot fire is refused when it is created, with the reason', async (t) => {
  const world = await openWorld(t)
  const refused = (more: Parameters<typeof schedule>[1], reason: RegExp) =>
    assert.rejects(schedule(world, more), reason)
  await refused({ timing: { type: 'cron', expression: '0 0 30 2 *', timezone: 'UTC' } }, /never fires/)
  await refused({ timing: { type: 'cron', expression: '0 0 * *', timezone: 'UTC' } }, /needs five fields/)
  await refused({ timing: { type: 'cron', expression: '@daily', timezone: 'Mars/Olympus' } }, /not a time zone/)
  await refused({ timing: { type: 'interval', everyMs: 1_000, from: START } }, /from 60 seconds/)
  await refused({ timing: { type: 'once', at: START - 2 * HOUR_MS } }, /has passed/)
  await refused({ timing: { type: 'once', at: START + 2 * HOUR_MS }, endsAt: START + HOUR_MS }, /before its first/)
  await refused({ timing: { type: 'once', at: START + 1 }, graceMs: 1 }, /grace must be/)
  await refused(
    { timing: { type: 'once', at: START + 1 }, quietHours: { from: '8', to: '09:00', timezone: 'UTC' } },
    /not a time of day/,
  )
})
