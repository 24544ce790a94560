import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Letta } from '@letta-ai/letta-client'
import { KEY } from '../fixture-server-process.ts'
import { history, MODES, readStream, sendIn, type WireValue, waitUntilSettled } from '../send-modes.ts'
import type { BehaviorFixture } from './fixture-behaviors.ts'
import { NEVER, SLOW } from './sample-messages.ts'

/** Idempotency: a message that is sent several times is run once. */
export function neverTwice({ server, newAgent }: BehaviorFixture): void {
  for (const mode of MODES) {
    test(`${mode}: a message with an otid is run once, however often and in whichever mode it is sent again`, async () => {
      const { client, simulator } = server()
      const agentId = await newAgent()
      simulator.script({ answer: SLOW })
      const body = { messages: [{ role: 'user', content: 'Once', otid: crypto.randomUUID() }] }
      const [one, other] = await Promise.all([
        sendIn(mode, client, { agentId, body }),
        sendIn('token stream', client, { agentId, body }),
      ])
      const late = await sendIn(mode, client, { agentId, body })
      assert.equal(one.runId, other.runId)
      assert.equal(late.runId, one.runId)
      assert.equal(late.messages[0].content, SLOW.text)
      assert.equal(simulator.requests.length, 1)
      assert.equal((await history(client, agentId)).length, 2)
      const changed = { messages: [{ ...body.messages[0], content: 'Something else' }] }
      await assert.rejects(sendIn(mode, client, { agentId, body: changed }), { status: 409 })
      assert.equal(simulator.requests.length, 1)
    })
  }

  test('an otid is remembered across kill -9, and a repeat gets the answer', async () => {
    const { client, simulator, kill, start } = server()
    const agentId = await newAgent()
    simulator.script({ answer: SLOW })
    const body = { messages: [{ role: 'user', content: 'Once', otid: crypto.randomUUID() }] }
    const first = client.agents.messages.create(agentId, body as never, { maxRetries: 0 })
    const failed = assert.rejects(first)
    await simulator.waitForRequests(1)
    await kill()
    await failed
    await start()
    const reply = await sendIn('blocking', client, { agentId, body })
    assert.equal(reply.messages[0].content, SLOW.text)
    assert.equal((await history(client, agentId)).length, 2)
    assert.equal((await client.runs.list({ agent_id: agentId })).getPaginatedItems().length, 1)
  })

  test('the retry of a client that lost its connection attaches to the run it had started', async () => {
    const { simulator, url, client } = server()
    const agentId = await newAgent()
    simulator.script({ answer: SLOW })
    // The client times out after a moment (usually a minute) and retries by itself.
    const hasty = new Letta({ baseURL: url(), apiKey: KEY, timeout: 300, maxRetries: 10 })
    const response: WireValue = await hasty.agents.messages.create(agentId, { input: 'Once' })
    assert.equal(response.messages[0].content, SLOW.text)
    assert.equal((await client.runs.list({ agent_id: agentId })).getPaginatedItems().length, 1)
    assert.equal(simulator.requests.length, 1)
  })

  test('a client that got a 503 from a stopping server finds its run again, also without an otid', async () => {
    const { simulator, url, client, stop, start } = server()
    const agentId = await newAgent()
    simulator.script({ answer: SLOW })
    const patient = new Letta({ baseURL: url(), apiKey: KEY, maxRetries: 10 })
    const sending = patient.agents.messages.create(agentId, { input: 'Once' })
    await simulator.waitForRequests(1)
    await stop()
    await start()
    const response: WireValue = await sending
    assert.equal(response.messages[0].content, SLOW.text)
    assert.equal((await client.runs.list({ agent_id: agentId })).getPaginatedItems().length, 1)
    assert.equal((await history(client, agentId)).length, 2)
  })

  test('the same text sent as two requests is run twice', async () => {
    const { client, fetch } = server()
    const agentId = await newAgent()
    await client.agents.messages.create(agentId, { input: 'Hello' })
    await client.agents.messages.create(agentId, { input: 'Hello' })
    // A retry header does not attach to a request that was completely answered.
    const init = {
      method: 'POST',
      body: JSON.stringify({ input: 'Hello' }),
      headers: { 'x-stainless-retry-count': '1' },
    }
    const runs = async () => (await client.runs.list({ agent_id: agentId })).getPaginatedItems().length
    assert.equal(await runs(), 2)
    // The server records that the whole answer was sent a moment after the client has it; until then this is a retry.
    while ((await runs()) < 3) assert.equal((await fetch(`/v1/agents/${agentId}/messages`, init)).status, 200)
    assert.equal(await runs(), 3)
  })

  test('messages sent during a turn are queued up to a limit, and the next one gets 429', async () => {
    const { client, simulator } = server()
    const agentId = await newAgent()
    simulator.script({ answer: NEVER })
    const first = await client.agents.messages.createAsync(agentId, { input: 'first' })
    await simulator.waitForRequests(1)
    const queued: string[] = []
    for (let index = 0; index < 32; index++)
      queued.push((await client.agents.messages.createAsync(agentId, { input: `later ${index}` })).id)
    const full = client.agents.messages.createAsync(agentId, { input: 'too much' }, { maxRetries: 0 })
    await assert.rejects(full, { status: 429 })
    assert.equal((await client.runs.retrieve(queued[0]!)).status, 'created')
    const waiting = readStream(await client.runs.messages.stream(queued[1]!, {}))
    const cancelled = await client.agents.messages.cancel(agentId, {})
    assert.equal(Object.keys(cancelled).length, 33)
    assert.equal((await waitUntilSettled(client, first.id)).status, 'cancelled')
    assert.equal((await waiting).stopReason, 'cancelled')
  })
}
