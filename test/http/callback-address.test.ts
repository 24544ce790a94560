import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defined } from '../../src/core/defined.ts'
import { openServer } from './fixture-server-process.ts'

const SECRET = 'http://127.0.0.1:9/hooks/T0PSECRET?token=T0PSECRET'

test('a read key sees where webhooks go, and not their paths, which often are secrets', async (context) => {
  const server = await openServer()
  context.after(() => server.close())
  const as = (key?: string) => async (method: string, path: string, body?: unknown) => {
    const answer = await server.fetch(path, {
      method,
      ...defined({ key, body: body === undefined ? undefined : JSON.stringify(body) }),
    })
    return { status: answer.status, body: (await answer.json()) as never }
  }
  const made = await as()('POST', '/v1/keys', { name: 'reader', scope: 'read' })
  const reader = (made.body as { key: string }).key
  const agent = (await as()('POST', '/v1/agents', { name: 'ada', model: 'scripted/friendly' })).body as { id: string }
  const input = { input: 'hi', callback_url: SECRET }
  const run = (await as()('POST', `/v1/agents/${agent.id}/messages/async`, input)).body as { id: string }
  const timing = { type: 'one-time', scheduled_at: Date.now() + 86_400_000 }
  const body = { messages: [{ role: 'user', content: 'hi' }], schedule: timing, callback_url: SECRET }
  const scheduled = await as()('POST', `/v1/agents/${agent.id}/schedule`, body)
  assert.equal(scheduled.status, 200, JSON.stringify(scheduled.body))
  const { id } = scheduled.body as { id: string }
  const paths = [
    `/v1/runs/${run.id}`,
    `/v1/runs?agent_id=${agent.id}`,
    `/v1/agents/${agent.id}/schedule`,
    `/v1/agents/${agent.id}/schedule/${id}`,
    '/v1/schedules',
    `/v1/schedules/${id}`,
  ]
  for (const path of paths) {
    const forReader = await as(reader)('GET', path)
    assert.equal(forReader.status, 200, path)
    const text = JSON.stringify(forReader.body)
    assert.match(text, /http:\/\/127\.0\.0\.1:9\/…/, path)
    assert.doesNotMatch(text, /T0PSECRET/, path)
    assert.match(JSON.stringify((await as()('GET', path)).body), /T0PSECRET/, path)
  }
})
