import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { isSent, listenForCallbacks, waitForCallback } from './callback-listener.ts'
import { MODEL, openServer } from './fixture-server-process.ts'

/** kill -9 after the webhook was called and before the response could be stored. */
export async function callsAgainAfterKill(context: TestContext, environment: Record<string, string> = {}) {
  const listener = await listenForCallbacks((response, count) => {
    if (count > 1) response.end()
  })
  context.after(() => listener.close())
  const server = await openServer(environment)
  context.after(() => server.close())
  const { client } = server
  const agent = await client.agents.create({ name: 'ada', model: MODEL, include_base_tools: false })
  const callback_url = `${listener.url}/done`
  const { id } = await client.agents.messages.createAsync(agent.id, { input: 'Hello', callback_url } as never)
  await listener.called(1)
  await server.kill()
  await server.start()
  const { callback_sent_at, callback_error } = (await client.runs.retrieve(id)) as never
  assert.deepEqual([callback_sent_at, callback_error], [null, null])

  await listener.called(2)
  const run = await waitForCallback(client, id, isSent)
  assert.equal(run.callback_status_code, 200)
  const [first, second, ...others] = listener.calls
  assert.deepEqual(others, [])
  assert.deepEqual(first?.body, second?.body)
  const attempts = [first, second].map((call) => call?.headers['x-holdfast-attempt'])
  assert.deepEqual(attempts, ['1', '2'])
  for (const call of [first, second]) assert.equal(call?.headers['x-holdfast-delivery'], id)
}
