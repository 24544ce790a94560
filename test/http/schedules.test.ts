import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DAY_MS, MINUTE_MS } from '../../src/core/duration.ts'
import { settleSchedules } from '../../src/service/schedules/settle-schedules.ts'
import type { ServiceContext } from '../../src/service/service-context.ts'
import { serveFixture, statusOf } from './fixture-resource-server.ts'

/** A server whose clock is ahead. */
const later = (context: ServiceContext, ms: number): ServiceContext => {
  const { clock } = context.deps
  return { ...context, deps: { ...context.deps, clock: { ...clock, now: () => clock.now() + ms } } }
}

test('the client schedules a message, lists it in pages, reads and deletes it', async (t) => {
  const { fixture, client, fetch } = await serveFixture(t)
  const agentId = fixture.agent.id
  const at = Date.now() + DAY_MS
  const messages = [{ role: 'user' as const, content: 'wake up' }]
  const once = await client.agents.schedule.create(agentId, {
    messages,
    schedule: { type: 'one-time', scheduled_at: at },
    max_steps: 3,
  })
  assert.equal(Date.parse(once.next_scheduled_at!), at)
  const weekly = await client.agents.schedule.create(agentId, {
    messages,
    schedule: { type: 'recurring', cron_expression: '0 9 * * mon' },
  })
  const first = await client.agents.schedule.list(agentId, { limit: '1' })
  assert.deepEqual([first.has_next_page, first.scheduled_messages.map(({ id }) => id)], [true, [once.id]])
  const second = await client.agents.schedule.list(agentId, { limit: '1', after: once.id })
  assert.deepEqual([second.has_next_page, second.scheduled_messages.map(({ id }) => id)], [false, [weekly.id]])
  const read = await client.agents.schedule.retrieve(weekly.id, { agent_id: agentId })
  assert.deepEqual(read.schedule, { type: 'recurring', cron_expression: '0 9 * * mon' })
  assert.deepEqual(read.message.messages, [{ role: 'user', content: [{ type: 'text', text: 'wake up' }] }])
  assert.equal((await client.agents.schedule.retrieve(once.id, { agent_id: agentId })).message.max_steps, 3)
  assert.deepEqual(await client.agents.schedule.delete(weekly.id, { agent_id: agentId }), { success: true })
  assert.equal(await statusOf(client.agents.schedule.retrieve(weekly.id, { agent_id: agentId })), 404)
  const bad = { messages, schedule: { type: 'recurring' as const, cron_expression: '61 * * * *' } }
  assert.equal(await statusOf(client.agents.schedule.create(agentId, bad)), 400)
  assert.equal((await fetch('GET', '/v1/holdfast/runs')).status, 200)
})

test('a schedule has an interval or an expression with a zone, quiet hours, an end, a policy, and says what became of it', async (t) => {
  const { fixture, fetch } = await serveFixture(t, { script: () => [{ text: 'done' }] })
  const agent_id = fixture.agent.id
  const created = await fetch('POST', '/v1/schedules', {
    agent_id,
    name: 'queue',
    content: 'look',
    every_seconds: 600,
    starts_at: new Date(Date.now() + MINUTE_MS).toISOString(),
    ends_at: new Date(Date.now() + 65 * MINUTE_MS).toISOString(),
    timezone: 'Europe/Berlin',
    quiet_hours: { from: '00:00', to: '00:01' },
    grace_seconds: 7_200,
    coalesce: false,
    on_guarded: 'ask',
    max_steps: 5,
    model: 'test/model',
    conversation_id: fixture.conversationId,
  })
  const shown = created.body as Record<string, unknown> & { id: string }
  assert.equal(created.status, 200, JSON.stringify(shown))
  assert.deepEqual(
    [
      shown.state,
      shown.grace_seconds,
      shown.coalesce,
      shown.on_guarded,
      shown.max_steps,
      shown.model,
      shown.conversation_id,
    ],
    ['active', 7_200, false, 'ask', 5, 'test/model', fixture.conversationId],
  )
  const path = `/v1/schedules/${shown.id}`
  while ((await settleSchedules(later(fixture.context, 70 * MINUTE_MS))) > 0) {}
  const history = (await fetch('GET', `${path}/history`)).body as { outcome: string; run_id: `run-${string}` }[]
  assert.ok(history.filter(({ outcome }) => outcome === 'fired').length >= 6, JSON.stringify(history))
  const run = await fixture.wait(history[0]!.run_id)
  assert.equal((run.metadata as Record<string, unknown>).schedule_id, shown.id)
  assert.equal(((await fetch('GET', path)).body as { state: string }).state, 'ended')

  const { run_id } = (await fetch('POST', `${path}/run`)).body as { run_id: `run-${string}` }
  assert.equal((await fixture.wait(run_id)).status, 'completed')
  assert.equal(((await fetch('DELETE', path)).body as { deleted: boolean }).deleted, true)
  for (const [method, more] of [
    ['GET', ''],
    ['DELETE', ''],
    ['POST', '/run'],
    ['POST', '/pause'],
    ['POST', '/resume'],
    ['GET', '/history'],
  ] as const)
    assert.equal((await fetch(method, `${path}${more}`)).status, 404, `${method} ${more}`)
})

test('what contradicts itself or never fires is refused with a text that says why', async (t) => {
  const { fixture, fetch } = await serveFixture(t)
  const refused = async (body: object, reason: RegExp) => {
    const answer = await fetch('POST', '/v1/schedules', { agent_id: fixture.agent.id, content: 'x', ...body })
    assert.ok(answer.status >= 400 && answer.status < 500, JSON.stringify(answer))
    assert.match(JSON.stringify(answer.body), reason)
  }
  await refused({}, /exactly one of/)
  await refused({ cron: '@daily', every_seconds: 60 }, /exactly one of/)
  await refused({ cron: '0 0 31 2 *' }, /never fires/)
  await refused({ cron: '@daily', timezone: 'Nowhere' }, /not a time zone/)
  await refused({ every_seconds: 1 }, /from 60 seconds/)
  await refused({ at: '2020-01-01T00:00:00Z' }, /has passed/)
  await refused({ at: '2120-01-01T00:00:00Z', starts_at: '2119-01-01T00:00:00Z' }, /starts_at/)
  await refused({ cron: '@daily', content: ' ' }, /must have some text/)
  await refused({ cron: '@daily', model: 'nobody/x' }, /body.model/)
  await refused({ cron: '@daily', conversation_id: `conv-${crypto.randomUUID()}` }, /no conversation/)
})

test('a paused schedule waits, and a deleted conversation is refused in the history', async (t) => {
  const { fixture, client, fetch } = await serveFixture(t)
  const agent_id = fixture.agent.id
  const conversation = await client.conversations.create({ agent_id })
  const body = { agent_id, content: 'x', every_seconds: 60, conversation_id: conversation.id }
  const { id } = (await fetch('POST', '/v1/schedules', body)).body as { id: string }
  assert.equal(((await fetch('POST', `/v1/schedules/${id}/pause`)).body as { state: string }).state, 'paused')
  assert.equal(await settleSchedules(later(fixture.context, 10 * MINUTE_MS)), 0)
  assert.equal(((await fetch('POST', `/v1/schedules/${id}/resume`)).body as { state: string }).state, 'active')
  await fetch('DELETE', `/v1/conversations/${conversation.id}`)
  await settleSchedules(later(fixture.context, 10 * MINUTE_MS))
  const [newest] = (await fetch('GET', `/v1/schedules/${id}/history?limit=1`)).body as {
    outcome: string
    reason: string
  }[]
  assert.deepEqual([newest!.outcome, newest!.reason], ['refused', `The conversation ${conversation.id} was deleted.`])
})

test('callback_url of a schedule is checked when it is created', async (t) => {
  const { fixture, fetch } = await serveFixture(t)
  const { status, body } = await fetch('POST', '/v1/schedules', {
    agent_id: fixture.agent.id,
    content: 'x',
    every_seconds: 60,
    callback_url: 'http://127.0.0.1:1/done',
  })
  // The addresses of this fixture are all refused: the address is checked when the schedule is created.
  assert.equal(status, 422)
  assert.match(JSON.stringify(body), /callback_url cannot be called/)
})

test('a schedule that is fired by hand twice under one request_id is one run', async (t) => {
  const { fixture, fetch } = await serveFixture(t)
  const at = new Date(Date.now() + DAY_MS).toISOString()
  const made = await fetch('POST', '/v1/schedules', { agent_id: fixture.agent.id, content: 'look', at })
  const path = `/v1/schedules/${(made.body as { id: string }).id}`
  const fire = async (request_id: string) => {
    const { status, body } = await fetch('POST', `${path}/run`, { request_id })
    assert.equal(status, 200)
    return (body as { run_id: string }).run_id
  }
  const fired = await Promise.all([1, 2, 3].map(() => fire('mine')))
  assert.equal(new Set(fired).size, 1)
  assert.notEqual(await fire('another'), fired[0])
  assert.equal(((await fetch('GET', `${path}/history`)).body as unknown[]).length, 2)
})

test('a heartbeat has its defaults, its own values, and says nothing by `silent` in the metadata of its run', async (t) => {
  const { fixture, fetch } = await serveFixture(t, { script: () => [{ text: 'HEARTBEAT_OK' }] })
  const agent_id = fixture.agent.id
  const plain = await fetch('POST', '/v1/schedules', { agent_id, heartbeat: {}, every_seconds: 1_800 })
  const shown = plain.body as { id: string; heartbeat: object; messages: { content: unknown }[] }
  assert.deepEqual(shown.heartbeat, {
    silence: 'HEARTBEAT_OK',
    rest_seconds: 900,
    turns_per_day: 48,
    dollars_per_day: null,
    timezone: 'UTC',
  })
  assert.match(JSON.stringify(shown.messages), /This is a heartbeat/)
  const own = { silence: 'NOTHING', rest_seconds: 0, turns_per_day: 3, dollars_per_day: 0.5 }
  const body = { agent_id, heartbeat: own, cron: '@daily', timezone: 'Asia/Tokyo', content: 'Well?' }
  const made = (await fetch('POST', '/v1/schedules', body)).body as { heartbeat: object }
  assert.deepEqual(made.heartbeat, Object.assign({ timezone: 'Asia/Tokyo' }, own))
  const { run_id } = (await fetch('POST', `/v1/schedules/${shown.id}/run`)).body as { run_id: `run-${string}` }
  await fixture.wait(run_id)
  const run = (await fetch('GET', `/v1/runs/${run_id}`)).body as { metadata: { run_type: string; silent: boolean } }
  assert.deepEqual([run.metadata.run_type, run.metadata.silent], ['heartbeat', true])
  const overview = (await fetch('GET', `/v1/holdfast/runs/${run_id}`)).body as { silent: boolean }
  assert.equal(overview.silent, true)
  for (const [heartbeat, reason] of [
    [{ turns_per_day: 0 }, /turns per day/],
    [{ rest_seconds: -1 }, /rest after a person/],
    [{ silence: ' ' }, /answer that means silence/],
    [{ dollars_per_day: 0 }, /dollars per day/],
  ] as const) {
    const refused = await fetch('POST', '/v1/schedules', { agent_id, heartbeat, every_seconds: 1_800 })
    assert.equal(refused.status, 400)
    assert.match(JSON.stringify(refused.body), reason)
  }
})
