import assert from 'node:assert/strict'
import { test } from 'node:test'
import Letta from '@letta-ai/letta-client'
import { notServed } from '../../src/http/letta/not-served.ts'
import { serveFixture } from './fixture-resource-server.ts'
import { KEY } from './fixture-server-process.ts'

test('every route that is not served says so once: its 501 tells clients not to retry', async (context) => {
  const { client, fixture } = await serveFixture(context)
  for (const { methods = ['GET'], path } of notServed) {
    const url =
      client.baseURL + path.replace(':agent_id', fixture.agent.id).replace(':run_id', 'run-x').replace('*', 'x')
    const answer = await fetch(url, { method: methods[0]!, headers: { authorization: `Bearer ${KEY}` } })
    assert.deepEqual([answer.status, answer.headers.get('x-should-retry')], [501, 'false'], `${methods[0]} ${path}`)
  }
})

test('the official client asks once for what is not served', async (context) => {
  const { client } = await serveFixture(context)
  let requests = 0
  const counting = new Letta({
    baseURL: client.baseURL,
    apiKey: KEY,
    fetch: (...request) => {
      requests++
      return fetch(...request)
    },
  })
  await assert.rejects(async () => void (await counting.folders.list()), { status: 501 })
  assert.equal(requests, 1)
})
