import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Letta } from '@letta-ai/letta-client'
import { KEY } from '../fixture-server-process.ts'
import { history, MODES, readStream, sendIn, type WireValue, waitUntilSettled } from '../send-modes.ts'
import type { BehaviorFixture } from './fixture-behaviors.ts'
import { NEVER, SLOW } from './sample-messages.ts'

/** What was sent once happens once, however often it is sent. */
export function neverTwice({ server, newAgent }: BehaviorFixture): void {
  for (const mode of MODES) {
    test(`${mode}: what was sent under an otid is run once, however often and in whichever mode it is sent again`, async () => {
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

  test('an otid is remembered across kill -9, and its repeat gets the answer', async () => {
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

  test('the retry of a client that lost its connection finds the run it had started', async () => {
    const { simulator, url, client } = server()
    const agentId = await newAgent()
    simulator.script({ answer: SLOW })
    // The client gives up after a moment, as it does after a minute, and tries again by itself.
    const hasty = new Letta({ baseURL: url(), apiKey: KEY, timeout: 300, maxRetries: 10 })
    const response: WireValue = await hasty.agents.messages.create(agentId, { input: 'Once' })
    assert.equal(response.messages[0].content, SLOW.text)
    assert.equal((await client.runs.list({ agent_id: agentId })).getPaginatedItems().length, 1)
    assert.equal(simulator.requests.length, 1)
  })

  test('a client that a stopping server sent away finds its run again, although it named nothing', async () => {
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

  test('the same words are said twice by somebody who says them twice', async () => {
    const { client, fetch } = server()
    const agentId = await newAgent()
    await client.agents.messages.create(agentId, { input: 'Hello' })
    await client.agents.messages.create(agentId, { input: 'Hello' })
    // A retry header does not make a repeat of what was answered to its end.
    const init = {
      method: 'POST',
      body: JSON.stringify({ input: 'Hello' }),
      headers: { 'x-stainless-retry-count': '1' },
    }
    const runs = async () => (await client.runs.list({ agent_id: agentId })).getPaginatedItems().length
    assert.equal(await runs(), 2)
    // The server writes down that it sent a whole answer a moment after the client has it; until then this is a retry.
    while ((await runs()) < 3) assert.equal((await fetch(`/v1/agents/${agentId}/messages`, init)).status, 200)
    assert.equal(await runs(), 3)
  })

  test('what is sent while a turn runs waits its turn, up to a bound that is told', async () => {
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
