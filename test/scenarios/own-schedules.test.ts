import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { realClock } from '../../src/config/real-clock.ts'
import { realRandomness } from '../../src/config/real-randomness.ts'
import { defined } from '../../src/core/defined.ts'
import { DAY_MS, MINUTE_MS } from '../../src/core/duration.ts'
import type { Json } from '../../src/core/json.ts'
import type { OwnScheduleLimits } from '../../src/core/own-schedules.ts'
import type { Schedule } from '../../src/core/schedule.ts'
import { foldTurn, openCalls } from '../../src/core/turn.ts'
import type { Store } from '../../src/ports/store.ts'
import { lastInput } from '../../src/providers/scripted/current-turn.ts'
import { answerApproval } from '../../src/service/approvals/answer-approval.ts'
import { createSchedule, listSchedules, runScheduleNow } from '../../src/service/schedules/schedules.ts'
import { checkStore } from '../../src/service/store/check-store.ts'
import { scheduleTools } from '../../src/tools/schedules/schedule-tools.ts'
import { type HomeFixture, openHomeFixture } from '../harness/fixture-home.ts'

type Call = { tool: string; input: Json }
type Options = { limits?: Partial<OwnScheduleLimits>; wrapStore?: (store: Store) => Store }

/** The agent carries out the calls that a message of this test names, as JSON. */
async function openWorld(context: TestContext, { limits, wrapStore }: Options = {}) {
  const store = () => home.context.deps.store
  const tools = scheduleTools({
    store: {
      schedules: {
        get: (...request: Parameters<Store['schedules']['get']>) => store().schedules.get(...request),
        list: (...request: Parameters<Store['schedules']['list']>) => store().schedules.list(...request),
      } as Store['schedules'],
      runs: { getAnywhere: (id: `run-${string}`) => store().runs.getAnywhere(id) } as Store['runs'],
    },
    clock: realClock,
    randomness: realRandomness,
    limits: { count: 3, shortestMs: 15 * MINUTE_MS, horizonMs: 366 * DAY_MS, approval: 'never', ...limits },
    limitOf: async () => 0,
  })
  const home: HomeFixture = await openHomeFixture(context, {
    tools,
    ...defined({ wrapStore }),
    script({ messages }) {
      const asked = lastInput(messages)
      return asked.startsWith('[')
        ? [{ calls: JSON.parse(asked) as Call[] }, { text: 'done' }]
        : [{ text: `heard ${asked}` }]
    },
  })
  const own = () => listSchedules({ agentId: home.agent.id }, { limit: 100, order: 'asc' }, home.context)
  const call = async (...calls: Call[]): Promise<string[]> => {
    const run = await home.ask(JSON.stringify(calls))
    const events = await home.events(run.id)
    return events.flatMap((event) => (event.type === 'tool-ended' ? [event.outcome.output] : []))
  }
  return { home, own, call }
}

const once = {
  tool: 'create_schedule',
  input: { message: 'water the plants', at: '2027-01-01T09:00:00Z', name: 'plants' },
}
const hourly = { tool: 'create_schedule', input: { message: 'look', every_minutes: 60 } }

test('an agent makes, lists and cancels its own schedules, and what comes of them is in its conversation', async (t) => {
  const { home, own, call } = await openWorld(t)
  assert.match((await call(once))[0]!, /^Made schedule-.*: once at 2027-01-01T09:00:00.000Z/)
  const [made] = (await own()) as [Schedule]
  assert.deepEqual([made.conversationId, made.onGuarded, made.name], [home.conversationId, 'deny', 'plants'])
  const { runId } = await runScheduleNow(made.id, {}, home.context)
  assert.equal((await home.wait(runId)).conversationId, home.conversationId)
  assert.ok(JSON.stringify(await home.messages()).includes('heard water the plants'))
  const listed = JSON.parse((await call({ tool: 'list_schedules', input: {} }))[0]!) as { made_by_you: boolean }[]
  assert.deepEqual(
    listed.map(({ made_by_you }) => made_by_you),
    [true],
  )
  assert.match((await call({ tool: 'cancel_schedule', input: { schedule_id: made.id } }))[0]!, /^Deleted schedule-/)
  assert.deepEqual(await own(), [])
  assert.deepEqual((await checkStore(home.context)).violations, [])
})

test('a schedule that a person made, or of another agent, is not its own to cancel', async (t) => {
  const { home, own, call } = await openWorld(t)
  const made = await createSchedule(
    {
      agent: home.agent,
      timing: { type: 'once', at: Date.now() + DAY_MS },
      inputs: [{ role: 'user', content: [{ type: 'text', text: 'x' }] }],
    },
    home.context,
  )
  assert.match(
    (await call({ tool: 'cancel_schedule', input: { schedule_id: made.id } }))[0]!,
    /only a person can delete/,
  )
  assert.match((await call({ tool: 'cancel_schedule', input: { schedule_id: 'x' } }))[0]!, /You have no schedule "x"/)
  assert.equal((await own()).length, 1)
})

test('what is too often, too far, too many or makes no sense is refused in words, and nothing is made', async (t) => {
  const { own, call } = await openWorld(t, { limits: { count: 2 } })
  const refused = async (input: Json, reason: RegExp) =>
    assert.match((await call({ tool: 'create_schedule', input: Object.assign({ message: 'x' }, input) }))[0]!, reason)
  await refused({}, /exactly one of at, every_minutes and cron/)
  await refused({ every_minutes: 5 }, /every 5 minutes; the shortest time between two instants is 15 minutes/)
  await refused({ cron: '0,1 9 * * mon' }, /every 1 minutes; the shortest/)
  await refused({ cron: '0 0 31 2 *' }, /never fires/)
  await refused({ cron: '@daily', timezone: 'Nowhere' }, /not a time zone/)
  await refused({ at: '2120-01-01T00:00:00Z' }, /more than 366 days away/)
  await refused({ at: 'tomorrow' }, /"tomorrow" is not a time/)
  await refused({ at: '2020-01-01T00:00:00Z' }, /has passed/)
  await refused({ cron: '@daily', ends_at: '2120-01-01T00:00:00Z' }, /end is more than 366 days away/)
  assert.deepEqual(await own(), [])
  const outputs = await call(hourly, hourly, hourly)
  assert.deepEqual(
    outputs.map((output) => output.slice(0, 8)),
    ['Made sch', 'Made sch', 'The sche'],
  )
  assert.match(outputs[2]!, /you have 2 schedules of your own, and the limit is 2/)
  assert.equal((await own()).length, 2)
})

test('one that repeats waits for approval by the default policy; a run that nobody attends is denied it', async (t) => {
  const { home, own, call } = await openWorld(t, { limits: { approval: 'repeating' } })
  assert.match((await call(once))[0]!, /^Made/)
  const waiting = await home.ask(JSON.stringify([hourly]))
  assert.equal(waiting.waiting, true)
  assert.equal((await own()).length, 1)
  const [asked] = openCalls(foldTurn(await home.events(waiting.id)))
  assert.match(JSON.stringify(asked), /repeats/)
  const verdicts = [{ callId: asked!.callId, verdict: 'approve' as const }]
  await home.wait(await answerApproval({ runId: waiting.id, verdicts }, home.context))
  assert.equal((await own()).length, 2)
  const unattended = await home.ask(JSON.stringify([hourly]), { onGuarded: 'deny' })
  assert.deepEqual([unattended.waiting, (await own()).length], [false, 2])
})

for (const moment of ['before', 'after'] as const)
  test(`a process that dies ${moment} the commit of the call leaves one schedule in the end`, async (t) => {
    let isArmed = true
    const died = Promise.withResolvers<void>()
    const { home, own } = await openWorld(t, {
      wrapStore: (store) => ({
        ...store,
        events: {
          ...store.events,
          async append(batch) {
            const writes = batch.facts.some(({ event }) => event.type === 'tool-ended' && event.writes)
            if (!isArmed || !writes) return store.events.append(batch)
            isArmed = false
            if (moment === 'after') await store.events.append(batch)
            died.resolve()
            return new Promise(() => undefined)
          },
        },
      }),
    })
    const runId = await home.send(JSON.stringify([once]))
    await died.promise
    await home.crash()
    await home.restart()
    assert.equal((await home.wait(runId)).status, 'completed')
    assert.equal((await own()).length, 1)
    assert.deepEqual((await checkStore(home.context)).violations, [])
  })
