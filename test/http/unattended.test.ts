import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { DAY_MS } from '../../src/core/duration.ts'
import { tool } from '../harness/tools.ts'
import { serveFixture } from './fixture-resource-server.ts'

// The other entrances: `test/scenarios/heartbeats.test.ts`, `test/http/openai-chat.test.ts` and `openai-responses.test.ts`.

/** An agent that calls a guarded tool first, for every message. */
async function serveGuarded(context: TestContext) {
  let sent = 0
  const guarded = tool(
    'send_postcard',
    () => {
      sent += 1
      return { status: 'success', output: 'sent' }
    },
    { needsApproval: true },
  )
  const script = () => [{ calls: [{ tool: 'send_postcard', input: {} }] }, { text: 'Done.' }]
  const served = await serveFixture(context, { tools: [guarded], script })
  /** How the run ended, what it says of guarded calls, and what became of its call. */
  const outcomeOf = async (runId: `run-${string}`) => {
    const { waiting, metadata } = await served.fixture.wait(runId)
    const events = await served.fixture.events(runId)
    const outputs = events.flatMap((event) => (event.type === 'tool-ended' ? [event.outcome.output] : []))
    return { waiting, onGuarded: (metadata as { on_guarded: string }).on_guarded, outputs, sent }
  }
  return { ...served, outcomeOf }
}

function requireDenied({
  waiting,
  onGuarded,
  outputs,
  sent,
}: {
  waiting: boolean
  onGuarded: string
  outputs: string[]
  sent: number
}) {
  assert.deepEqual([waiting, onGuarded, outputs.length, sent], [false, 'deny', 1, 0])
  assert.match(outputs[0]!, /unattended/)
}

test('a guarded call of a schedule is denied by default, and waits for approval with `on_guarded: ask`, visibly on the run', async (context) => {
  const { fixture, fetch, outcomeOf } = await serveGuarded(context)
  const at = new Date(Date.now() + DAY_MS).toISOString()
  const fire = async (more: object) => {
    const body = Object.assign({ agent_id: fixture.agent.id, content: 'go', at }, more)
    const { id } = (await fetch('POST', '/v1/schedules', body)).body as { id: string }
    return ((await fetch('POST', `/v1/schedules/${id}/run`)).body as { run_id: `run-${string}` }).run_id
  }
  requireDenied(await outcomeOf(await fire({})))
  const asked = await outcomeOf(await fire({ on_guarded: 'ask' }))
  assert.deepEqual([asked.waiting, asked.onGuarded, asked.sent], [true, 'ask', 0])
})

test('a guarded call of a hook is denied by default, and waits for approval with `on_guarded: ask`, visibly on the run', async (context) => {
  const { fixture, fetch, outcomeOf } = await serveGuarded(context)
  const secret = 'a-secret-of-the-sender'
  const deliver = async (more: object) => {
    const body = Object.assign({ agent_id: fixture.agent.id, scheme: 'github', secret, template: 'go' }, more)
    const { path } = (await fetch('POST', '/v1/hooks', body)).body as { path: string }
    const text = '{"action":"opened"}'
    const signature = `sha256=${createHmac('sha256', secret).update(text).digest('hex')}`
    const headers = { 'x-hub-signature-256': signature, 'x-github-event': 'issues' }
    const { status, body: answer } = await fetch('POST', path, text, headers)
    assert.equal(status, 202, JSON.stringify(answer))
    return (answer as { run_id: `run-${string}` }).run_id
  }
  requireDenied(await outcomeOf(await deliver({})))
  const asked = await outcomeOf(await deliver({ on_guarded: 'ask' }))
  assert.deepEqual([asked.waiting, asked.onGuarded, asked.sent], [true, 'ask', 0])
})

test('schedules and hooks of an agent that was deleted are gone, and a sender is told so', async (context) => {
  const { fixture, client, fetch } = await serveGuarded(context)
  const agent_id = fixture.agent.id
  const schedule = await fetch('POST', '/v1/schedules', { agent_id, content: 'x', every_seconds: 60 })
  const hook = await fetch('POST', '/v1/hooks', { agent_id, scheme: 'github', template: 'x' })
  await client.agents.delete(agent_id)
  const { id } = schedule.body as { id: string }
  const { path } = hook.body as { path: string }
  assert.equal((await fetch('GET', `/v1/schedules/${id}`)).status, 404)
  assert.equal((await fetch('POST', `/v1/schedules/${id}/run`)).status, 404)
  assert.equal((await fetch('POST', path, '{}')).status, 404)
  assert.equal((await fetch('POST', '/v1/schedules', { agent_id, content: 'x', every_seconds: 60 })).status, 404)
})
