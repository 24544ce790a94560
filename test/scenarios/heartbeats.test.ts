import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { realClock } from '../../src/config/real-clock.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/core/duration.ts'
import { dayStart, type Heartbeat, isSilence, silenceInstruction } from '../../src/core/heartbeat.ts'
import type { Schedule } from '../../src/core/schedule.ts'
import { foldTurn, openCalls } from '../../src/core/turn.ts'
import type { ModelRequest } from '../../src/ports/model.ts'
import type { Tool } from '../../src/ports/tool.ts'
import { lastInput } from '../../src/providers/scripted/current-turn.ts'
import type { Script } from '../../src/providers/scripted/script.ts'
import { answerApproval } from '../../src/service/approvals/answer-approval.ts'
import { sendMessage } from '../../src/service/messages/send-message.ts'
import {
  createSchedule,
  type NewSchedule,
  runScheduleNow,
  scheduleHistory,
} from '../../src/service/schedules/schedules.ts'
import { settleSchedules } from '../../src/service/schedules/settle-schedules.ts'
import type { ServiceContext } from '../../src/service/service-context.ts'
import { checkStore } from '../../src/service/store/check-store.ts'
import { type HomeFixture, openHomeFixture } from '../harness/fixture-home.ts'
import { gate, tool } from '../harness/tools.ts'

const START = Date.UTC(2026, 5, 1)
const EVERY = 30 * MINUTE_MS

type World = {
  home: HomeFixture
  /** The context of a server whose clock shows this many minutes after the start. */
  at(minutes: number): ServiceContext
  beat(more?: Partial<Heartbeat>, schedule?: Partial<NewSchedule>): Promise<Schedule>
  settleAt(minutes: number): Promise<void>
  /** A person sends a message at this time, and its turn ends. */
  talkAt(minutes: number): Promise<void>
  history(schedule: Schedule): Promise<[minutes: number, outcome: string, reason: string | undefined][]>
}

/** The rows of turns have the time of the test too: what a heartbeat is decided by is in them. */
async function openWorld(
  context: TestContext,
  script: (request: ModelRequest) => Script = quiet,
  tools: Tool[] = [],
): Promise<World> {
  let now = START
  const home = await openHomeFixture(context, { script, tools, clock: { ...realClock, now: () => now } })
  const at = (minutes: number): ServiceContext => {
    now = START + minutes * MINUTE_MS
    return home.context
  }
  const rest = async () => {
    for (const run of await home.context.deps.store.runs.list(home.context.organizationId, {}, { limit: 1_000 }))
      await home.wait(run.id)
  }
  return {
    home,
    at,
    beat: (more = {}, schedule = {}) =>
      createSchedule(
        {
          agent: home.agent,
          timing: { type: 'interval', everyMs: EVERY, from: START + EVERY },
          inputs: [{ role: 'user', content: [{ type: 'text', text: 'Anything?' }] }],
          heartbeat: { restMs: 20 * MINUTE_MS, ...more },
          ...schedule,
        },
        at(0),
      ),
    async settleAt(minutes) {
      while ((await settleSchedules(at(minutes))) > 0) {}
      await rest()
    },
    async talkAt(minutes) {
      const content = [{ type: 'text' as const, text: 'hello' }]
      await sendMessage({ agent: home.agent, conversationId: home.conversationId, content }, at(minutes))
      await rest()
    },
    async history(schedule) {
      const found = await scheduleHistory(schedule.id, { limit: 1_000 }, home.context)
      return found
        .reverse()
        .map(({ instant, outcome, reason }) => [(instant - START) / MINUTE_MS, outcome, reason] as const) as never
    },
  }
}

const quiet = () => [{ text: 'HEARTBEAT_OK' }]

test('an agent is asked at each instant, is told how to say nothing, and its silence is visible on the run', async (t) => {
  const asked: string[] = []
  const world = await openWorld(t, ({ messages }) => {
    asked.push(lastInput(messages))
    return [{ text: asked.length === 1 ? '**HEARTBEAT_OK.**' : 'The queue is full!' }]
  })
  const schedule = await world.beat()
  for (const minutes of [30, 60]) await world.settleAt(minutes)
  assert.deepEqual(
    (await world.history(schedule)).map(([, outcome]) => outcome),
    ['fired', 'fired'],
  )
  assert.ok(asked[0]!.includes('Anything?') && asked[0]!.includes(silenceInstruction('HEARTBEAT_OK')), asked[0])
  const runs = await world.home.context.deps.store.runs.list(world.home.context.organizationId, {}, { limit: 10 })
  const bySilence = runs.map(({ silent, metadata }) => [silent, (metadata as { run_type: string }).run_type])
  assert.deepEqual(bySilence.toSorted().reverse(), [
    [true, 'heartbeat'],
    [false, 'heartbeat'],
  ])
  assert.deepEqual((await checkStore(world.home.context)).violations, [])
})

test('what counts as silence: the stated answer with any decoration, or no answer, and nothing else', () => {
  for (const text of ['HEARTBEAT_OK', ' heartbeat_ok. ', '"HEARTBEAT_OK"', '**HEARTBEAT_OK**', '', ' \n'])
    assert.equal(isSilence(text, 'HEARTBEAT_OK'), true, text)
  for (const text of ['HEARTBEAT_OK, but the disk is full', 'OK', 'HEARTBEAT', 'The answer is HEARTBEAT_OK'])
    assert.equal(isSilence(text, 'HEARTBEAT_OK'), false, text)
})

test('a heartbeat is held back while a person talks and shortly after, with the reason, and goes on after the rest', async (t) => {
  const world = await openWorld(t)
  const schedule = await world.beat()
  await world.talkAt(25)
  await world.settleAt(30)
  await world.settleAt(60)
  await world.talkAt(89)
  await world.settleAt(90)
  await world.settleAt(120)
  const history = await world.history(schedule)
  assert.deepEqual(
    history.map(([minutes, outcome]) => [minutes, outcome]),
    [
      [30, 'skipped'],
      [60, 'fired'],
      [90, 'skipped'],
      [120, 'fired'],
    ],
  )
  assert.match(history[0]![2]!, /A person talked at 2026-06-01T00:25:00.000Z, within the rest of 1200 s/)
})

test('while the turn of a person runs, nothing fires beside it or behind it', async (t) => {
  const [began, end] = [gate(), gate()]
  const slow = tool('dig', async () => {
    began.open()
    await end.promise
    return { status: 'success', output: 'dug' }
  })
  const digging = ({ messages }: ModelRequest): Script =>
    lastInput(messages) === 'dig' ? [{ calls: [{ tool: 'dig', input: {} }] }, { text: 'dug' }] : quiet()
  const world = await openWorld(t, digging, [slow])
  const { home } = world
  const schedule = await world.beat()
  const content = [{ type: 'text' as const, text: 'dig' }]
  const { runId } = await sendMessage({ agent: home.agent, conversationId: home.conversationId, content }, world.at(1))
  await began.promise
  while ((await settleSchedules(world.at(30))) > 0) {}
  assert.deepEqual(await world.history(schedule), [[30, 'skipped', `The conversation is busy with ${runId}.`]])
  end.open()
  await home.wait(runId)
})

test('quiet hours skip instants, and what schedules and hooks did in the conversation holds nothing back', async (t) => {
  const world = await openWorld(t)
  const schedule = await world.beat({}, { quietHours: { from: '00:00', to: '00:45', timezone: 'UTC' } })
  const other = await createSchedule(
    {
      agent: world.home.agent,
      timing: { type: 'once', at: START + 59 * MINUTE_MS },
      inputs: [{ role: 'user', content: [{ type: 'text', text: 'tick' }] }],
    },
    world.at(0),
  )
  for (const minutes of [30, 59, 60]) await world.settleAt(minutes)
  assert.deepEqual(await world.history(other), [[59, 'fired', undefined]])
  const history = await world.history(schedule)
  assert.deepEqual(
    history.map(([minutes, outcome]) => [minutes, outcome]),
    [
      [30, 'skipped'],
      [60, 'fired'],
    ],
  )
  assert.match(history[0]![2]!, /Quiet hours/)
})

test('the turns of a day are counted in its time zone, over kill -9, and a run by hand counts and is not held back', async (t) => {
  const world = await openWorld(t)
  const schedule = await world.beat({ turnsPerDay: 3, timezone: 'Asia/Tokyo' })
  await world.settleAt(30)
  await world.home.crash()
  await world.home.restart()
  const { runId } = await runScheduleNow(schedule.id, {}, world.at(45))
  await world.home.wait(runId)
  await world.settleAt(60)
  await world.home.crash()
  await world.home.restart()
  for (const minutes of [90, 14 * 60 + 30, 15 * 60]) await world.settleAt(minutes)
  const history = (await world.history(schedule)).filter(
    ([, , reason]) => !/within its grace|was due after/.test(reason ?? ''),
  )
  assert.deepEqual(
    history.map(([minutes, outcome]) => [minutes, outcome]),
    [
      [30, 'fired'],
      [45, 'fired'],
      [60, 'fired'],
      [90, 'skipped'],
      // 23:30 in Tokyo, and midnight.
      [14 * 60 + 30, 'skipped'],
      [15 * 60, 'fired'],
    ],
  )
  assert.equal(history[3]![2], 'Its 3 turns of this day (Asia/Tokyo) are used.')
  assert.equal(dayStart(START + 14.5 * HOUR_MS, 'Asia/Tokyo'), START - 9 * HOUR_MS)
  assert.equal(dayStart(START + 15 * HOUR_MS, 'Asia/Tokyo') - START, 15 * HOUR_MS)
  assert.deepEqual((await checkStore(world.home.context)).violations, [])
})

test('the spend of a day holds the next instant back, and a model without a price says that it cannot be counted', async (t) => {
  const world = await openWorld(t)
  const schedule = await world.beat({ dollarsPerDay: 0.5 })
  const price = { input: 100_000, output: 0, asOf: 'test' }
  const priced = (known: boolean) => {
    const { directory } = world.home.context
    Object.assign(world.home.context, { directory: { ...directory, priceOf: () => (known ? price : undefined) } })
  }
  priced(true)
  for (const minutes of [30, 60, 90]) await world.settleAt(minutes)
  priced(false)
  await world.settleAt(120)
  const history = await world.history(schedule)
  const reasons = history.map(([, outcome, reason]) => [outcome, reason])
  assert.equal(reasons[0]![0], 'fired')
  assert.ok(
    reasons.some(
      ([outcome, reason]) => outcome === 'skipped' && /Its runs of this day \(UTC\) cost \$\d/.test(reason!),
    ),
    JSON.stringify(reasons),
  )
  assert.match(reasons.at(-1)![1]!, /The price of test\/model is unknown, so its \$0.5 of a day cannot be counted/)
})

test('a call that needs approval is denied by default, and asked about with on_guarded; the continued run counts its silence', async (t) => {
  const guarded = tool('send_postcard', () => ({ status: 'success', output: 'sent' }), { needsApproval: true })
  const world = await openWorld(t, () => [{ calls: [{ tool: 'send_postcard', input: {} }] }, ...quiet()], [guarded])
  const { home } = world
  const denied = await world.beat({})
  await world.settleAt(30)
  const [first] = await scheduleHistory(denied.id, { limit: 1 }, home.context)
  const run = await home.get(first!.runId!)
  assert.equal((run.metadata as { on_guarded: string }).on_guarded, 'deny')
  assert.deepEqual([run.status, run.waiting, run.silent], ['completed', false, true])

  const asking = await world.beat({}, { onGuarded: 'ask', timing: { type: 'once', at: START + 2 * HOUR_MS } })
  await world.settleAt(120)
  const [second] = await scheduleHistory(asking.id, { limit: 1 }, home.context)
  const waiting = await home.get(second!.runId!)
  assert.deepEqual([waiting.waiting, waiting.silent], [true, false])
  const [call] = openCalls(foldTurn(await home.events(waiting.id)))
  const verdicts = [{ callId: call!.callId, verdict: 'approve' as const }]
  const end = await home.wait(await answerApproval({ runId: waiting.id, verdicts }, home.context))
  assert.deepEqual([end.status, end.silent], ['completed', true])
})

test('a heartbeat that cannot be is refused with a text that says why', async (t) => {
  const world = await openWorld(t)
  const refused = (more: Partial<Heartbeat>, reason: RegExp, schedule: Partial<NewSchedule> = {}) =>
    assert.rejects(world.beat(more, schedule), reason)
  await refused({ silence: ' * ' }, /must have letters or digits/)
  await refused({ restMs: 2 * DAY_MS }, /rest after a person must be from 0 to 86400 seconds/)
  await refused({ turnsPerDay: 0 }, /turns per day must be a whole number from 1 to 1440/)
  await refused({ turnsPerDay: 1.5 }, /turns per day/)
  await refused({ dollarsPerDay: -1 }, /dollars per day must be more than 0/)
  await refused({ timezone: 'Mars/Olympus' }, /not a time zone/)
  await refused({}, /fires one instant at a time/, { coalesce: false })
})
