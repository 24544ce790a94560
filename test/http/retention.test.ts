import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openApp } from '../../src/app.ts'
import { realClock } from '../../src/config/real-clock.ts'
import { startServer } from '../../src/http/server.ts'
import { newScriptedProvider, scriptOf } from '../../src/providers/scripted/script.ts'
import { createAgent } from '../../src/service/agents/create-agent.ts'
import { sendMessage } from '../../src/service/messages/send-message.ts'
import { waitForRun } from '../../src/service/runs/watch-run.ts'
import { newHome } from '../cli/holdfast.ts'
import { KEY } from './fixture-server-process.ts'

const auth = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }

test('a stream past its retention time is gone with a 410 that says so; the messages are still there', async (t) => {
  // A tenth of a second, in days.
  const environment = { HOLDFAST_HOME: newHome(t), HOLDFAST_STREAM_DAYS: String(0.1 / 86_400) }
  const report = (fault: unknown) => assert.fail(String(fault))
  const provider = newScriptedProvider({ clock: realClock, scriptFor: () => scriptOf({ text: 'Hello.' }) })
  const app = await openApp({ environment, role: 'owner', report, providers: { test: provider } })
  const { context } = app
  const server = await startServer({ context, host: '127.0.0.1', port: 0, apiKey: KEY, version: '1', report })
  t.after(async () => {
    await server.close()
    await app.close()
  })
  const agent = await createAgent({ name: 'ada', model: 'test/model', tools: [] }, context)
  const conversation = await context.deps.store.conversations.defaultOf(agent.organizationId, agent.id)
  const content = [{ type: 'text' as const, text: 'hello' }]
  const { runId } = await sendMessage({ agent, conversationId: conversation!.id, content }, context)
  await waitForRun(runId, context)
  const resume = () => fetch(`${server.url}/v1/runs/${runId}/stream`, { method: 'POST', headers: auth })
  assert.match(await (await resume()).text(), /\[DONE\]/)

  while ((await context.deps.streams.prune()) === 0) await new Promise((resolve) => setTimeout(resolve, 20))
  for (const answer of [await resume(), await fetch(`${server.url}/v1/runs/${runId}/chunks`, { headers: auth })]) {
    assert.equal(answer.status, 410)
    const { detail } = (await answer.json()) as { detail: string }
    assert.match(detail, /removed after its retention time. Its messages are still available/)
  }
  const messages = await fetch(`${server.url}/v1/runs/${runId}/messages`, { headers: auth })
  assert.match(await messages.text(), /assistant_message/)
  assert.equal((await fetch(`${server.url}/v1/runs/${runId}/attempts`, { headers: auth })).status, 200)
})
