import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { APIError } from '@letta-ai/letta-client'
import { defined } from '../../../src/core/defined.ts'
import { history, MODES, readStream, sendIn, typesIn, type WireValue } from '../send-modes.ts'
import type { BehaviorFixture } from './fixture-behaviors.ts'
import { approvalMessage, DICE, hello } from './sample-messages.ts'

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const IMAGE = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } }
const LOOK = { type: 'text', text: 'What is this?' }

/** Options of a single request. */
export function requests({ server, newAgent }: BehaviorFixture): void {
  test('`input` is a message in every mode; both or neither of `input` and `messages` is refused (client 10)', async () => {
    const { client, simulator } = server()
    const agentId = await newAgent()
    for (const mode of MODES)
      assert.equal((await sendIn(mode, client, { agentId, body: { input: 'Plainly' } })).stopReason, 'end_turn', mode)
    const old = await readStream(await client.agents.messages.stream(agentId, { input: 'Plainly' }))
    assert.equal(old.stopReason, 'end_turn')
    const users = await history(client, agentId, { include_return_message_types: ['user_message'] })
    assert.deepEqual(
      users.map(({ content }) => content),
      Array.from({ length: 6 }, () => 'Plainly'),
    )
    const before = simulator.requests.length
    for (const mode of MODES)
      for (const body of [{ input: 'x', ...hello() }, {}, { messages: [] }])
        await assert.rejects(sendIn(mode, client, { agentId, body }), { status: 422 }, mode)
    assert.equal(simulator.requests.length, before)
  })

  for (const mode of MODES) {
    test(`${mode}: a permanent model failure is an error to the client and leaves nothing in the history (client 11)`, async () => {
      const { client, simulator } = server()
      const agentId = await newAgent()
      simulator.script({ answer: { error: 'invalid-request' } })
      const otid = crypto.randomUUID()
      const sending = sendIn(mode, client, { agentId, body: hello(otid) })
      if (mode === 'async') assert.equal((await sending).stopReason, 'llm_api_error')
      else await assert.rejects(sending, APIError)
      assert.deepEqual(await history(client, agentId), [])
      const [run] = (await client.runs.list({ agent_id: agentId })).getPaginatedItems()
      assert.deepEqual([run?.status, run?.stop_reason], ['failed', 'llm_api_error'])
      assert.equal((run?.metadata as WireValue)?.error?.error_type, 'llm_error')
      assert.equal(simulator.requests.length, 1, 'the client does not retry')

      // The same text under the same otid, sent again by a person.
      simulator.script({ answer: { text: 'Now it works.' } })
      assert.equal((await sendIn(mode, client, { agentId, body: hello(otid) })).stopReason, 'end_turn')
    })

    test(`${mode}: a filter by message type applies to messages and never to the events that end a stream (client 12)`, async () => {
      const { client, simulator } = server()
      const agentId = await newAgent()
      simulator.script({ when: { attempt: 1 }, answer: DICE }, { answer: { text: 'Done.' } })
      const body = { ...hello(), include_return_message_types: ['tool_return_message'] }
      const reply = await sendIn(mode, client, { agentId, body })
      assert.deepEqual(typesIn(reply.messages), ['tool_return_message'])
      assert.equal(reply.stopReason, 'end_turn')
      const only = await history(client, agentId, { include_return_message_types: ['user_message'] })
      assert.deepEqual(typesIn(only), ['user_message'])
    })
  }

  test('override_model applies to one request, and an unknown model is refused before a run is created (client 12)', async () => {
    const { client, simulator } = server()
    const agentId = await newAgent()
    const send = (override_model?: string) =>
      client.agents.messages.create(agentId, {
        input: 'hi',
        ...defined({ override_model: override_model || undefined }),
      })
    await send('openai/other-model')
    await send()
    assert.deepEqual(
      simulator.requests.map(({ model }) => model),
      ['other-model', 'simulated-model'],
    )
    await assert.rejects(send('nobody/x'), { status: 404 })
    await assert.rejects(send('x'), { status: 400 })
    assert.equal((await client.agents.retrieve(agentId)).model, 'openai/simulated-model')
    assert.equal((await client.runs.list({ agent_id: agentId })).getPaginatedItems().length, 2)
  })

  test('a system message is accepted and sent to the model (client 13)', async () => {
    const { client, simulator } = server()
    const agentId = await newAgent()
    const messages = [{ role: 'system', content: 'Speak plainly.' }, ...hello().messages]
    await client.agents.messages.create(agentId, { messages } as never)
    assert.ok(JSON.stringify(simulator.requests[0]?.body).includes('Speak plainly.'))
    assert.deepEqual(typesIn(await history(client, agentId)), ['system_message', 'user_message', 'assistant_message'])
  })

  test('a tool result over its limit is truncated with a note, and a tool that throws returns an error to the model (client 13)', async () => {
    const { client, simulator, home } = server()
    const agentId = await newAgent({ tools: ['write_note', 'read_notes'] })
    const notes = Array.from({ length: 14 }, (_, index) => ({
      id: `note-${index}`,
      name: 'write_note',
      arguments: { text: `${index}`.padEnd(4_000, 'x') },
    }))
    const read = { calls: [{ id: 'read', name: 'read_notes', arguments: {} }] }
    simulator.script(
      { when: { attempt: 1 }, answer: { calls: notes } },
      { when: { attempt: 2 }, answer: read },
      { answer: { text: 'Read.' } },
    )
    const { messages } = await sendIn('blocking', client, { agentId, body: hello() })
    const long = messages.findLast(({ message_type }) => message_type === 'tool_return_message')
    assert.equal(long.status, 'success')
    assert.match(long.tool_return, /function output was truncated/)
    assert.ok(long.tool_return.length < 51_000)

    const other = await newAgent({ tools: ['read_notes'] })
    mkdirSync(join(home, 'notes', `${other}.md`), { recursive: true })
    simulator.script({ when: { attempt: 1 }, answer: read }, { answer: { text: 'It is broken.' } })
    const reply = await sendIn('step stream', client, { agentId: other, body: hello() })
    assert.equal(reply.messages[1].status, 'error')
    assert.match(reply.messages[1].tool_return, /^Error executing function read_notes: Error: EISDIR/)
    assert.equal(reply.stopReason, 'end_turn')
  })

  test('images as base64 and as URL are stored and sent to the model, in messages and in tool results (client 14)', async () => {
    const { client, simulator } = server()
    const agentId = await newAgent()
    const url = 'https://example.com/cat.png'
    const linked = { type: 'image', source: { type: 'url', url } }
    const send = (content: unknown) =>
      client.agents.messages.create(agentId, { messages: [{ role: 'user', content }] } as never)
    await send([LOOK, IMAGE])
    await send([LOOK, linked])
    const bodies = simulator.requests.map(({ body }) => JSON.stringify(body))
    assert.ok(bodies[0]!.includes(PIXEL) && bodies[1]!.includes(url))
    const kept = await history(client, agentId, { include_return_message_types: ['user_message'] })
    assert.equal(kept[0].content[1].source.data, PIXEL)
    assert.equal(kept[1].content[1].source.url, url)

    const other = await newAgent()
    const client_tools = [{ name: 'look', description: 'Looks', parameters: { type: 'object', properties: {} } }]
    const call = { id: 'call-look', name: 'look', arguments: {} }
    simulator.script(
      { when: { attempt: 1, lastContains: 'Hello' }, answer: { calls: [call] } },
      { answer: { text: 'A dot.' } },
    )
    await sendIn('blocking', client, { agentId: other, body: { ...hello(), client_tools } })
    const result = { type: 'tool', tool_call_id: 'call-look', tool_return: [LOOK, IMAGE], status: 'success' }
    const reply = await sendIn('blocking', client, {
      agentId: other,
      body: { ...approvalMessage(result), client_tools },
    })
    assert.equal(reply.stopReason, 'end_turn')
    assert.ok(JSON.stringify(simulator.requests.at(-1)?.body).includes(PIXEL))
  })

  test('a model without vision gets a text placeholder for an image (client 14)', async () => {
    const { client, simulator } = server()
    const agentId = await newAgent()
    simulator.script({ when: { hasImages: true }, answer: { error: 'image-corrupt' } }, { answer: { text: 'I see.' } })
    const body = { messages: [{ role: 'user', content: [LOOK, IMAGE] }] }
    const reply = await sendIn('blocking', client, { agentId, body })
    assert.equal(reply.messages[0].content, 'I see.')
    const last = JSON.stringify(simulator.requests.at(-1)?.body)
    assert.ok(!last.includes(PIXEL) && /image/.test(last))
  })
}
