import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Letta } from '@letta-ai/letta-client'
import { findLocalHostname } from '../../harness/local-hostname.ts'
import { hasFailed, isSent, listenForCallbacks, type WebhookListener, waitForCallback } from '../callback-listener.ts'
import { typesIn, type WireValue } from '../send-modes.ts'
import type { BehaviorFixture } from './fixture-behaviors.ts'
import { approvalMessage, approveCall, hello, NEVER, POSTCARD } from './sample-messages.ts'

/** Webhooks that are called when a run ends. */
export function callbacks({ server, newAgent }: BehaviorFixture): void {
  const send = sendTo(server)

  test('a webhook is called once, with the run and its result (client 9)', async (context) => {
    const { client } = server()
    const listener = await startListener(context)
    const callback_url = `${listener.url}/done?for=me`
    const { id } = await send(await newAgent(), callback_url)
    await listener.called(1)
    const [{ method, path, headers, body }] = listener.calls as [(typeof listener.calls)[0]]
    assert.deepEqual([method, path], ['POST', '/done?for=me'])
    assert.match(headers['content-type'] ?? '', /^application\/json/)
    assert.deepEqual([headers['x-holdfast-delivery'], headers['x-holdfast-attempt']], [id, '1'])
    assert.deepEqual(Object.keys(body).sort(), ['completed_at', 'metadata', 'run_id', 'status'])
    assert.deepEqual([body.run_id, body.status, body.metadata.run_type], [id, 'completed', 'send_message_async'])
    assert.deepEqual(typesIn(body.metadata.result.messages), ['assistant_message'])
    assert.equal(body.metadata.result.stop_reason.stop_reason, 'end_turn')
    assert.equal(body.metadata.result.usage.step_count, 1)

    const ended = await waitForCallback(client, id, isSent)
    assert.equal(body.completed_at, ended.completed_at)
    assert.deepEqual([ended.callback_url, ended.callback_status_code, ended.callback_error], [callback_url, 200, null])
    assert.equal(listener.calls.length, 1)
  })

  test('failed, cancelled and waiting runs call their webhooks, too, and a continuing run has its own webhook', async (context) => {
    const { client, simulator } = server()
    const listener = await startListener(context)
    const of = (runId: string): WireValue => listener.calls.find(({ body }) => body.run_id === runId)?.body

    simulator.script({ answer: { error: 'invalid-request' } })
    const failed = await send(await newAgent(), `${listener.url}/failed`)
    await listener.called(1)
    assert.equal(of(failed.id).status, 'failed')
    assert.equal(of(failed.id).metadata.error.error_type, 'llm_error')

    simulator.reset()
    simulator.script({ answer: NEVER })
    const agentId = await newAgent()
    const cancelled = await send(agentId, `${listener.url}/cancelled`)
    await client.agents.messages.cancel(agentId, { run_ids: [cancelled.id] })
    await listener.called(2)
    assert.equal(of(cancelled.id).status, 'cancelled')

    simulator.reset()
    simulator.script({ when: { attempt: 1 }, answer: { calls: [POSTCARD] } }, { answer: { text: 'Sent.' } })
    const asking = await newAgent()
    const waiting = await send(asking, `${listener.url}/waiting`)
    await listener.called(3)
    assert.equal(of(waiting.id).status, 'completed')
    assert.equal(of(waiting.id).metadata.result.stop_reason.stop_reason, 'requires_approval')
    const went = await send(asking, `${listener.url}/went`, { body: approvalMessage(approveCall(POSTCARD.id)) })
    await listener.called(4)
    assert.deepEqual([of(went.id).status, listener.calls[3]?.path], ['completed', '/went'])
    await waitForCallback(client, went.id, isSent)
    assert.equal(listener.calls.length, 4)
  })

  test('the redirect of a webhook is checked again: not to this machine, and not with a status that drops the body', async (context) => {
    const { client } = server()
    const inside = await startListener(context)
    const outside = await startListener(context, (response) => {
      response.writeHead(307, { location: `${inside.url.replace('http:', 'https:')}/secret` }).end()
    })
    const { id } = await send(await newAgent(), outside.url)
    const refused = await waitForCallback(client, id, hasFailed)
    assert.match(refused.callback_error, /127\.0\.0\.1 is not on the public internet\. There is no further attempt\.$/)
    assert.deepEqual([outside.calls.length, inside.calls.length], [1, 0])

    const moved = await startListener(context, (response, count) => {
      if (count === 1) response.writeHead(307, { location: '/new' })
      response.end()
    })
    const followed = await send(await newAgent(), moved.url)
    await waitForCallback(client, followed.id, isSent)
    assert.deepEqual(
      moved.calls.map(({ method, path, body }) => [method, path, body.run_id]),
      [
        ['POST', '/', followed.id],
        ['POST', '/new', followed.id],
      ],
    )

    const dropping = await startListener(context, (response) => {
      response.writeHead(302, { location: '/login' }).end()
    })
    const dropped = await send(await newAgent(), dropping.url)
    assert.match((await waitForCallback(client, dropped.id, hasFailed)).callback_error, /drops the request body/)
    assert.equal(dropping.calls.length, 1)
  })

  test('an invalid webhook URL is refused before a run is created', async () => {
    const { client } = server()
    const agentId = await newAgent()
    const bad = [
      '',
      'nowhere',
      '/done',
      'ftp://example.com/x',
      'file:///etc/passwd',
      'javascript:alert(1)',
      'https://user:password@example.com/',
      `https://example.com/${'x'.repeat(2100)}`,
      7,
    ]
    for (const url of bad)
      await assert.rejects(send(agentId, url), (fault: WireValue) => {
        assert.equal(fault.status, 422, String(url))
        assert.match(JSON.stringify(fault.error.detail), /callback_url/)
        return true
      })
    assert.deepEqual((await client.runs.list({ agent_id: agentId })).getPaginatedItems(), [])
  })

  test('a key that is not an operator key can use webhooks on the public internet only', async (context) => {
    const listener = await startListener(context)
    const { port } = new URL(listener.url)
    const made = await server().fetch('/v1/keys', {
      method: 'POST',
      body: JSON.stringify({ name: 'app', scope: 'agent' }),
    })
    const { key } = (await made.json()) as { key: string }
    const client = new Letta({ baseURL: server().url(), apiKey: key, maxRetries: 0 })
    const agentId = await newAgent()
    const hosts = [
      '127.0.0.1',
      'localhost',
      'LOCALHOST.',
      'a.localhost',
      '2130706433',
      '0x7f.1',
      '0177.0.0.1',
      '[::1]',
      '[::ffff:127.0.0.1]',
      '0.0.0.0',
      '10.0.0.1',
      '192.168.1.1',
      '169.254.169.254',
      '[fd00::1]',
      '100.64.0.1',
    ]
    for (const host of hosts)
      await assert.rejects(
        send(agentId, `https://${host}:${port}/`, { client }),
        (fault: WireValue) => {
          assert.equal(fault.status, 422, host)
          assert.match(fault.error.detail, /is not on the public internet/)
          return true
        },
        host,
      )
    await assert.rejects(send(agentId, 'http://example.com/', { client }), /must be called over https/)

    // A host name is checked by the address it resolves to, when the webhook is called.
    const name = await findLocalHostname()
    if (!name) return context.diagnostic('no name leads to this machine')
    const { id } = await send(agentId, `https://${name}:${port}/`, { client })
    const run = await waitForCallback(client, id, hasFailed)
    assert.match(run.callback_error, /is not on the public internet\. There is no further attempt\.$/)
    assert.deepEqual(listener.calls, [])
  })
}

/** Webhooks that fail at first; the retries take some seconds. */
export function laterCallbacks({ server, newAgent }: BehaviorFixture): void {
  const send = sendTo(server)

  test('a failed webhook call is retried later as the same delivery', async (context) => {
    const { client } = server()
    const listener = await startListener(context, (response, count) => {
      response.statusCode = count === 1 ? 500 : 204
      response.end()
    })
    const { id } = await send(await newAgent(), listener.url)
    const once = await waitForCallback(client, id, hasFailed)
    assert.equal(once.callback_status_code, 500)
    assert.match(
      once.callback_error,
      /^Attempt 1 of 8: the webhook answered with status 500\. The next attempt is in 5 s\.$/,
    )
    await listener.called(2)
    const twice = await waitForCallback(client, id, ({ callback_status_code }) => callback_status_code === 204)
    assert.equal(twice.callback_error, null)
    const headers = listener.calls.map((call) => call.headers)
    assert.deepEqual(
      headers.map((one) => [one['x-holdfast-delivery'], one['x-holdfast-attempt']]),
      [
        [id, '1'],
        [id, '2'],
      ],
    )
    assert.deepEqual(listener.calls[0]?.body, listener.calls[1]?.body)
  })
}

async function startListener(
  context: TestContext,
  answer?: Parameters<typeof listenForCallbacks>[0],
): Promise<WebhookListener> {
  const listener = await listenForCallbacks(answer)
  context.after(() => listener.close())
  return listener
}

const sendTo =
  (server: BehaviorFixture['server']) =>
  (
    agentId: string,
    callback_url: unknown,
    { body = hello(), client = server().client }: { body?: object; client?: Letta } = {},
  ) =>
    client.agents.messages.createAsync(agentId, { ...body, callback_url } as never)
