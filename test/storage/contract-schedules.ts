import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { HOUR_MS } from '../../src/core/duration.ts'
import { checkSchedule } from '../../src/core/invariants/all.ts'
import type { Schedule } from '../../src/core/schedule.ts'
import type { Settlement } from '../../src/ports/schedule-store.ts'
import type { Store } from '../../src/ports/store.ts'
import type { ContractTests } from './contract.ts'
import {
  type AgentConversation,
  AT,
  claimNext,
  collect,
  createAgent,
  finish,
  newId,
  ORGANIZATION,
  OTHER_ORGANIZATION,
  openRun,
} from './fixture-storage.ts'

const scheduleOf = ({ agentId }: AgentConversation): Schedule => ({
  id: `schedule-${randomUUID()}`,
  organizationId: ORGANIZATION,
  agentId,
  name: 'hourly',
  timing: { type: 'interval', everyMs: HOUR_MS, from: AT + HOUR_MS },
  graceMs: HOUR_MS,
  coalesce: true,
  inputs: [{ role: 'user', content: [{ type: 'text', text: 'tick' }] }],
  onGuarded: 'deny',
  createdBy: { actor: 'home' },
  createdAt: AT,
  nextAt: AT + HOUR_MS,
  isPaused: false,
})

const firing = (schedule: Schedule, agent: AgentConversation, more: Partial<Settlement> = {}): Settlement => ({
  schedule,
  seen: schedule.nextAt!,
  nextAt: schedule.nextAt! + HOUR_MS,
  others: [],
  firings: [{ instant: schedule.nextAt!, open: openRun(agent) }],
  at: schedule.nextAt! + 5,
  refusalOf: ({ type }) => type,
  ...more,
})

/** Its end has the time `AT`. */
async function endQueued(store: Store): Promise<void> {
  const claim = await claimNext(store)
  await finish(store, claim!.run)
}

export const SCHEDULES: ContractTests = {
  'an instant is settled by one of several servers: one run, one row, one next instant': async ({
    store,
    another,
    snapshot,
  }) => {
    const agent = await createAgent(store)
    const schedule = scheduleOf(agent)
    assert.equal(await store.schedules.create(schedule, 0), 'created')
    assert.equal(await store.schedules.nextDue(), schedule.nextAt)
    const other = (await another()).store
    const settled = await Promise.all(
      [store, other, store, other].map((one) => one.schedules.settle(firing(schedule, agent))),
    )
    assert.equal(settled.filter(({ type }) => type === 'settled').length, 1)
    const runs = await store.runs.list(ORGANIZATION, { agentId: agent.agentId }, { limit: 10 })
    assert.equal(runs.length, 1)
    const history = await other.schedules.history(ORGANIZATION, schedule.id, { limit: 10 })
    assert.deepEqual(
      history.map(({ outcome, runId, instant }) => [outcome, runId, instant]),
      [['fired', runs[0]!.id, schedule.nextAt]],
    )
    assert.deepEqual(await other.schedules.get(ORGANIZATION, schedule.id), {
      ...schedule,
      nextAt: schedule.nextAt! + HOUR_MS,
      lastRun: runs[0]!.id,
    })
    const [record] = await collect(snapshot.schedules())
    assert.deepEqual([record!.instants.length, record!.runs.has(runs[0]!.id)], [1, true])
  },

  'a run that is not opened leaves its instant refused, and a failed settlement changes nothing': async ({ store }) => {
    const agent = await createAgent(store)
    const schedule = scheduleOf(agent)
    await store.schedules.create(schedule, 0)
    const gone = { ...agent, conversationId: newId.conversation() }
    const faulty = firing(schedule, agent)
    // The second row of the same instant breaks the key: the run of the first goes with it.
    await assert.rejects(
      store.schedules.settle({ ...faulty, firings: [...faulty.firings, ...firing(schedule, agent).firings] }),
    )
    assert.deepEqual(await store.runs.list(ORGANIZATION, { agentId: agent.agentId }, { limit: 10 }), [])
    assert.deepEqual(await store.schedules.get(ORGANIZATION, schedule.id), schedule)
    const settled = await store.schedules.settle(firing(schedule, gone))
    assert.equal(settled.type, 'settled')
    const [row] = await store.schedules.history(ORGANIZATION, schedule.id, { limit: 10 })
    assert.deepEqual([row!.outcome, row!.reason, row!.runId], ['refused', 'no-conversation', undefined])
  },

  'a paused schedule is not due, keeps its place, and remembers the pause until its instants are settled': async ({
    store,
  }) => {
    const agent = await createAgent(store)
    const schedule = scheduleOf(agent)
    await store.schedules.create(schedule, 0)
    const change = (isPaused: boolean, at: number) => store.schedules.pause(ORGANIZATION, schedule.id, { isPaused, at })
    await change(true, AT + 10)
    assert.equal(await store.schedules.nextDue(), undefined)
    assert.equal((await store.schedules.settle(firing(schedule, agent))).type, 'moved')
    const resumed = await change(false, AT + 2 * HOUR_MS)
    assert.deepEqual(resumed, { ...schedule, pause: { from: AT + 10, until: AT + 2 * HOUR_MS } })
    assert.deepEqual(
      (await store.schedules.due(AT + HOUR_MS, { after: 0, limit: 10 })).map(({ schedule: { id } }) => id),
      [schedule.id],
    )
    await store.schedules.settle(firing(schedule, agent, { nextAt: AT + 3 * HOUR_MS }))
    assert.equal((await store.schedules.get(ORGANIZATION, schedule.id))!.pause, undefined)
  },

  'schedules belong to an organization, are limited, and go with their agent': async ({ store }) => {
    const agent = await createAgent(store)
    const [first, second] = [scheduleOf(agent), scheduleOf(agent)]
    assert.equal(await store.schedules.create(first, 1), 'created')
    assert.equal(await store.schedules.create(second, 1), 'over-limit')
    assert.equal(await store.schedules.create({ ...second, agentId: newId.agent() }, 0), 'no-agent')
    assert.equal(await store.schedules.get(OTHER_ORGANIZATION, first.id), undefined)
    assert.equal(await store.schedules.delete(OTHER_ORGANIZATION, first.id), false)
    const page = { limit: 10, order: 'asc' as const }
    assert.deepEqual(await store.schedules.list(OTHER_ORGANIZATION, {}, page), [])
    assert.deepEqual(await store.schedules.list(ORGANIZATION, { agentId: agent.agentId }, page), [first])
    await store.schedules.settle(firing(first, agent))
    await store.agents.delete(ORGANIZATION, agent.agentId)
    assert.equal(await store.schedules.get(ORGANIZATION, first.id), undefined)
    assert.deepEqual(await store.schedules.history(ORGANIZATION, first.id, { limit: 10 }), [])
  },

  'old history is pruned by its age, and no more than asked for': async ({ store }) => {
    const agent = await createAgent(store)
    const schedule = scheduleOf(agent)
    await store.schedules.create(schedule, 0)
    await store.schedules.settle(firing(schedule, agent))
    const { nextAt } = firing(schedule, agent)
    const other = { instant: nextAt!, lastInstant: nextAt!, count: 1, outcome: 'skipped' as const, isManual: false }
    const second = { seen: nextAt!, nextAt: nextAt! + HOUR_MS, firings: [], at: nextAt! + 5 }
    await store.schedules.settle(firing(schedule, agent, { ...second, others: [{ ...other, reason: 'Paused.' }] }))
    assert.equal(await store.schedules.prune(AT, 10), 0)
    assert.equal(await store.schedules.prune(AT + 10 * HOUR_MS, 1), 1)
    const left = await store.schedules.history(ORGANIZATION, schedule.id, { limit: 10 })
    assert.deepEqual(
      left.map(({ outcome }) => outcome),
      ['skipped'],
    )
  },

  'a heartbeat is held back behind a person and a full day, in the transaction that would fire it': async ({
    store,
    snapshot,
  }) => {
    const agent = await createAgent(store)
    const heartbeat = { silence: 'OK', restMs: 60_000, turnsPerDay: 1, dollarsPerDay: 1, timezone: 'Europe/Berlin' }
    const schedule: Schedule = Object.assign(scheduleOf(agent), { heartbeat, graceMs: 48 * HOUR_MS })
    await store.schedules.create(schedule, 0)
    const settleNext = async (more: Partial<Settlement> = {}) => {
      const now = (await store.schedules.get(ORGANIZATION, schedule.id))!
      const beat = firing(now, agent, { spending: { dollars: 0 }, ...more })
      for (const { open } of beat.firings) open.run.metadata = { run_type: 'heartbeat' }
      assert.equal((await store.schedules.settle(beat)).type, 'settled')
      const [row] = await store.schedules.history(ORGANIZATION, schedule.id, { limit: 1 })
      return [row!.outcome, row!.reason]
    }
    const person = openRun(agent)
    await store.runs.open(person)
    assert.deepEqual(await settleNext(), ['skipped', `The conversation is busy with ${person.run.id}.`])
    await endQueued(store)
    assert.match((await settleNext({ at: AT + 1 }))[1]!, /^A person talked at /)
    const costs = await settleNext({ at: AT + 9 * HOUR_MS, spending: { dollars: 1.5 } })
    assert.match(costs[1]!, /^Its runs of this day \(Europe\/Berlin\) cost \$1.5000 of \$1/)
    assert.deepEqual(await settleNext({ at: AT + 9 * HOUR_MS }), ['fired', undefined])
    await endQueued(store)
    assert.match((await settleNext({ at: AT + 9 * HOUR_MS }))[1]!, /^Its 1 turns of this day/)
    assert.deepEqual(await store.schedules.usedBetween(schedule.id, { from: 0, to: AT + 99 * HOUR_MS }), [])
    const [record] = await collect(snapshot.schedules())
    assert.deepEqual([record!.beats!.length, record!.firedThatDay], [1, 0])
    assert.deepEqual(checkSchedule(record!), [])
  },

  'a schedule that an agent makes is written with its limits, and only its own is deleted': async ({ store }) => {
    const agent = await createAgent(store)
    const author = { type: 'agent' as const, agentId: agent.agentId, runId: newId.run() }
    const writer = { organizationId: ORGANIZATION, agentId: agent.agentId, author }
    const create = (schedule: Schedule) =>
      store.toolWrites.carryOut(
        writer,
        [{ type: 'create-schedule', schedule, limits: { own: 2, ofOrganization: 0 } }],
        AT,
      )
    const own = () => Object.assign(scheduleOf(agent), { byRun: author.runId })
    const [first, ofPerson] = [own(), scheduleOf(agent)]
    await store.schedules.create(ofPerson, 0)
    assert.deepEqual([await create(first), await create(own()), await create(own())], ['done', 'done', 'stale'])
    const remove = (scheduleId: Schedule['id']) =>
      store.toolWrites.carryOut(writer, [{ type: 'delete-schedule', scheduleId }], AT)
    assert.deepEqual(
      [await remove(first.id), await remove(first.id), await remove(ofPerson.id)],
      ['done', 'stale', 'stale'],
    )
    assert.equal(await store.schedules.count(ORGANIZATION), 2)
  },
}
