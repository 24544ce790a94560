import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { startPostgres } from '../harness/postgres.ts'
import { isSent, listenForCallbacks, waitForCallback } from './callback-listener.ts'
import { MODEL, openServer } from './fixture-server-process.ts'
import { callsAgainAfterKill } from './killed-callback.ts'

const postgres = await startPostgres()
const skip = 'skip' in postgres ? postgres.skip : false
const environment = { DATABASE_URL: 'url' in postgres ? postgres.url : '' }

suite('callbacks on PostgreSQL', { skip }, () => {
  after(() => ('stop' in postgres ? postgres.stop() : undefined))

  test('two servers on one database call each webhook once', { timeout: 60_000 }, async (context) => {
    const listener = await listenForCallbacks((response, count) => {
      // Long enough for the other server to poll for work.
      setTimeout(() => response.end(), count % 3 === 0 ? 6_000 : 50)
    })
    context.after(() => listener.close())
    const servers = [await openServer(environment), await openServer(environment)]
    for (const server of servers) context.after(() => server.close())
    const runs = await Promise.all(
      Array.from({ length: 12 }, async (_, index) => {
        const { client } = servers[index % 2]!
        const agent = await client.agents.create({ name: `agent-${index}`, model: MODEL, include_base_tools: false })
        return client.agents.messages.createAsync(agent.id, { input: 'Hello', callback_url: listener.url } as never)
      }),
    )
    const ids = runs.map(({ id }) => id)
    for (const id of ids) await waitForCallback(servers[0]!.client, id, isSent)
    assert.deepEqual(listener.calls.map(({ body }) => body.run_id).sort(), ids.toSorted())
  })

  test(
    'a webhook call whose process is killed before the response is repeated by the next process as the same delivery',
    {
      timeout: 90_000,
    },
    (context) => callsAgainAfterKill(context, environment),
  )
})
