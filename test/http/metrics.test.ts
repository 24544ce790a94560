import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openApp } from '../../src/app.ts'
import { realClock } from '../../src/config/real-clock.ts'
import type { Agent } from '../../src/core/agent.ts'
import { startServer } from '../../src/http/server.ts'
import { newScriptedProvider, scriptOf } from '../../src/providers/scripted/script.ts'
import { createAgent } from '../../src/service/agents/create-agent.ts'
import { sendMessage } from '../../src/service/messages/send-message.ts'
import { waitForRun } from '../../src/service/runs/watch-run.ts'
import { newHome } from '../cli/holdfast.ts'
import { KEY } from './fixture-server-process.ts'

test('metrics show running runs, queued runs and their age, failures and tokens', async (t) => {
  const environment = { HOLDFAST_HOME: newHome(t), HOLDFAST_MAX_RUNNING_TURNS: '1' }
  const test = newScriptedProvider({ clock: realClock, scriptFor: () => scriptOf({ text: 'Hello.' }) })
  const open = () => openApp({ environment, role: 'owner', providers: { test } })
  let app = await open()
  const ada = await createAgent({ name: 'ada', model: 'scripted/friendly' }, app.context)
  const bob = await createAgent({ name: 'bob', model: 'test/model' }, app.context)
  const say = async (text: string, agent: Agent) => {
    const conversation = await app.context.deps.store.conversations.defaultOf(agent.organizationId, agent.id)
    const content = [{ type: 'text' as const, text }]
    return (await sendMessage({ agent, conversationId: conversation!.id, content }, app.context)).runId
  }
  const left = await say('count to 60', ada)
  await app.close()

  app = await open()
  const options = { host: '127.0.0.1', port: 0, apiKey: KEY, version: '1', report: () => {} }
  const server = await startServer({ ...options, context: app.context })
  t.after(async () => {
    await server.close()
    await app.close()
  })
  const page = async () =>
    (await fetch(`${server.url}/metrics`, { headers: { authorization: `Bearer ${KEY}` } })).text()
  const value = (text: string, name: string) => {
    const line = text.split('\n').find((one) => one.startsWith(`${name} `))
    return line === undefined ? undefined : Number(line.slice(name.length))
  }
  const until = async (name: string, expected: number) => {
    while (value(await page(), name) !== expected) await new Promise((resolve) => setTimeout(resolve, 20))
  }
  await until('holdfast_turns_running', 1)
  const queued = await say('hello', bob)
  const during = await page()
  assert.equal(value(during, 'holdfast_store_up'), 1)
  assert.equal(value(during, 'holdfast_workspaces'), 0)
  assert.equal(value(during, 'holdfast_runs{phase="running"}'), 1)
  assert.equal(value(during, 'holdfast_runs{phase="queued"}'), 1)
  assert.ok(value(during, 'holdfast_queue_oldest_seconds')! >= 0)
  await fetch(`${server.url}/v1/runs/${left}`, { method: 'DELETE', headers: { authorization: `Bearer ${KEY}` } })
  await waitForRun(queued, app.context)
  const after = await page()
  assert.equal(value(after, 'holdfast_runs{phase="queued"}'), 0)
  assert.equal(value(after, 'holdfast_queue_oldest_seconds'), 0)
  assert.equal(value(after, 'holdfast_runs_ended_total{stop_reason="end_turn"}'), 1)
  assert.equal(value(after, 'holdfast_runs_ended_total{stop_reason="cancelled"}'), 1)
  assert.equal(value(after, 'holdfast_lease_takeovers_total{why="handed-back"}'), 1)
  assert.equal(value(after, 'holdfast_lease_takeovers_total{why="worker-lost"}'), 0)
  assert.ok(value(after, 'holdfast_commit_seconds_count')! > 0)
  assert.ok(value(after, 'holdfast_tokens_total{of="completion"}')! > 0)
  assert.equal(value(after, 'holdfast_cache_lookups_total{found="absent"}'), 2)
  assert.equal(value(after, 'holdfast_cache_conversations{which="in_a_turn"}'), 0)
  for (const name of ['holdfast_event_loop_delay_seconds{quantile="0.99"}', 'holdfast_streams_open'])
    assert.ok(value(after, name) !== undefined, name)
  for (const line of after.split('\n').filter((one) => one.startsWith('# TYPE')))
    assert.match(line, /^# TYPE holdfast_/)
})
