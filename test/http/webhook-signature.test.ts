import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { listenForCallbacks, type WebhookCall } from './callback-listener.ts'
import { serveFor } from './fixture-server-process.ts'

const headersOf = ({ headers }: WebhookCall) => headers as Record<string, string>

test('webhooks are signed as Standard Webhooks, with the key before a change too, and a forgery does not verify', async (context) => {
  const served = await serveFor(context)
  const { client, agentId } = served
  const listener = await listenForCallbacks()
  context.after(() => listener.close())
  const called = async () => {
    const before = listener.calls.length
    await client.agents.messages.createAsync(agentId, { input: 'hello', callback_url: listener.url } as never)
    await listener.called(before + 1)
    return listener.calls.at(-1)!
  }
  const newSecret = async () => {
    const answer = await served.fetch('/v1/webhook-secret', { method: 'POST' })
    assert.equal(answer.status, 200)
    assert.equal(answer.headers.get('cache-control'), 'no-store')
    return ((await answer.json()) as { secret: string }).secret
  }

  const unsigned = await called()
  assert.equal(unsigned.headers['webhook-id'], unsigned.headers['x-holdfast-delivery'])
  assert.equal(unsigned.headers['webhook-signature'], undefined)

  const first = await newSecret()
  assert.match(first, /^whsec_[A-Za-z0-9+/]{43}=$/)
  const signed = await called()
  assert.deepEqual(new Webhook(first).verify(signed.text, headersOf(signed)), signed.body)
  assert.throws(() => new Webhook(first).verify(signed.text.replace('completed', 'cancelled'), headersOf(signed)))
  const old = {
    ...headersOf(signed),
    'webhook-timestamp': String(Number(headersOf(signed)['webhook-timestamp']) - 600),
  }
  assert.throws(() => new Webhook(first).verify(signed.text, old))

  const second = await newSecret()
  const both = await called()
  for (const key of [first, second]) new Webhook(key).verify(both.text, headersOf(both))
  const log = (await (await served.fetch('/v1/audit')).json()) as { verb: string }[]
  assert.equal(log.filter(({ verb }) => verb === 'webhook-secret.replace').length, 2)
  assert.equal(JSON.stringify(log).includes(first), false)

  await served.kill()
  await served.start()
  const later = await called()
  new Webhook(second).verify(later.text, headersOf(later))
})
