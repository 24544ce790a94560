import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { listenForCallbacks, type WebhookCall } from './callback-listener.ts'
import { serveFor } from './fixture-server-process.ts'
import type { WireValue } from './send-modes.ts'

async function serve(context: TestContext, answer?: Parameters<typeof listenForCallbacks>[0]) {
  const served = await serveFor(context)
  const listener = await listenForCallbacks(answer)
  context.after(() => listener.close())
  const send = async (method: string, path: string, body?: object): Promise<{ status: number; body: WireValue }> => {
    const response = await served.fetch(path, body ? { method, body: JSON.stringify(body) } : { method })
    return { status: response.status, body: await response.json() }
  }
  const create = async (events: string[], url = listener.url) => {
    const { status, body } = await send('POST', '/v1/webhooks', { url, events })
    assert.equal(status, 200, JSON.stringify(body))
    return body as { id: string; secret: string }
  }
  return { served, listener, send, create }
}

/** Asks until the answer is not false. */
async function until<T>(ask: () => Promise<T | false>): Promise<T> {
  for (;;) {
    const answer = await ask()
    if (answer !== false) return answer
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

const headersOf = ({ headers }: WebhookCall) => headers as Record<string, string>

test('a webhook is told that a run ended, signed with its own secret, which can be replaced', async (context) => {
  const { served, listener, send, create } = await serve(context)
  const { client, agentId } = served
  const { id, secret } = await create(['run.ended'])
  const run = await client.agents.messages.createAsync(agentId, { input: 'hello' } as never)
  await listener.called(1)
  const [call] = listener.calls as [WebhookCall]
  assert.equal(call.headers['webhook-id'], `${run.id}_ended`)
  const told: WireValue = new Webhook(secret).verify(call.text, headersOf(call))
  assert.equal(told.type, 'run.ended')
  const { run_id, agent_id, status, stop_reason, metadata } = told.data
  assert.deepEqual([run_id, agent_id, status, stop_reason], [run.id, agentId, 'completed', 'end_turn'])
  assert.ok(metadata.result.messages.length > 0)
  const shown = await send('GET', `/v1/webhooks/${id}`)
  assert.equal(JSON.stringify(shown.body).includes('whsec_'), false)

  const replaced = await send('POST', `/v1/webhooks/${id}/secret`)
  const tested = await send('POST', `/v1/webhooks/${id}/test`)
  await listener.called(2)
  const second = listener.calls[1]!
  assert.deepEqual([second.body.type, second.headers['webhook-id']], ['webhook.test', tested.body.event_id])
  for (const key of [secret, replaced.body.secret]) new Webhook(key).verify(second.text, headersOf(second))

  const log = await until(async () => {
    const { body } = await send('GET', `/v1/webhook-deliveries?webhook_id=${id}`)
    return body.every(({ state }: WireValue) => state === 'delivered') && body
  })
  assert.deepEqual(
    log.map(({ type, attempts, status_code, run_id: about }: WireValue) => [type, attempts, status_code, about]),
    [
      ['webhook.test', 1, 200, null],
      ['run.ended', 1, 200, run.id],
    ],
  )
  const again = await send('POST', `/v1/webhook-deliveries/${log[1].number}/redeliver`)
  assert.equal(again.body.state, 'due')
  await listener.called(3)
  assert.equal(listener.calls[2]?.headers['webhook-id'], `${run.id}_ended`)
  assert.deepEqual((await send('DELETE', `/v1/webhooks/${id}`)).body, { deleted: true })
  assert.deepEqual((await send('GET', '/v1/webhook-deliveries')).body, [])
})

test('a receiver that redirects inward gets no second attempt, and a wrong webhook is refused with the reason', async (context) => {
  const inside = await listenForCallbacks()
  context.after(() => inside.close())
  const { listener, send, create, served } = await serve(context, (response) => {
    response.writeHead(307, { location: inside.url.replace('http:', 'https:') }).end()
  })
  const { id } = await create(['run.ended'])
  await send('POST', `/v1/webhooks/${id}/test`)
  const [failed] = await until(async () => {
    const { body } = await send('GET', '/v1/webhook-deliveries?state=failed')
    return body.length > 0 && body
  })
  assert.match(failed.error, /127\.0\.0\.1 is not on the public internet\. There is no further attempt\.$/)
  assert.deepEqual([listener.calls.length, inside.calls.length], [1, 0])
  assert.notEqual((await send('GET', `/v1/webhooks/${id}`)).body.failing_since, null)

  for (const [body, text] of [
    [{ url: 'ftp://example.com', events: ['run.ended'] }, /url cannot be called/],
    [{ url: 'https://example.com', events: ['run.started'] }, /events/],
    [{ url: 'https://example.com', events: [] }, /events/],
  ] as const) {
    const refused = await send('POST', '/v1/webhooks', body)
    assert.equal(refused.status, 422)
    assert.match(JSON.stringify(refused.body), text)
  }
  const { body: key } = await send('POST', '/v1/keys', { name: 'app', scope: 'agent' })
  const denied = await served.fetch('/v1/webhooks', {
    method: 'POST',
    key: key.key,
    body: JSON.stringify({ url: 'https://example.com', events: ['run.ended'] }),
  })
  assert.equal(denied.status, 403)
})

test('what a paused webhook missed is kept, and can be sent once it is resumed', async (context) => {
  const { served, listener, send, create } = await serve(context)
  const { client, agentId } = served
  const { id } = await create(['run.ended'])
  assert.equal((await send('POST', `/v1/webhooks/${id}/pause`)).body.state, 'paused')
  assert.equal((await send('POST', `/v1/webhooks/${id}/test`)).status, 409)
  await client.agents.messages.create(agentId, { input: 'hello' } as never)
  const { body } = await send('GET', `/v1/webhook-deliveries?webhook_id=${id}`)
  assert.match(body[0].error, /^The webhook was paused\./)
  assert.equal((await send('POST', `/v1/webhook-deliveries/${body[0].number}/redeliver`)).status, 409)
  assert.equal((await send('POST', `/v1/webhooks/${id}/resume`)).body.state, 'active')
  await send('POST', `/v1/webhook-deliveries/${body[0].number}/redeliver`)
  await listener.called(1)
  assert.equal((await send('POST', '/v1/webhook-deliveries/999999/redeliver')).status, 404)
})
