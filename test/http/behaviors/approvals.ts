import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { history, MODES, readStream, sendIn, typesIn, type WireValue, waitUntilSettled } from '../send-modes.ts'
import type { BehaviorFixture } from './fixture-behaviors.ts'
import { approvalMessage, approveCall, denyCall, hello, NEVER, POSTCARD } from './sample-messages.ts'

/** Tool calls that need approval. */
export function approvals({ server, newAgent }: BehaviorFixture): void {
  const pending = (agentId: string) =>
    server().client.agents.retrieve(agentId, { include: ['agent.pending_approval'] }) as Promise<WireValue>
  const contextWorks = async (agentId: string) =>
    assert.equal((await server().fetch(`/v1/agents/${agentId}/context`)).status, 200)

  for (const mode of MODES) {
    test(`${mode}: a guarded call is sent as an approval request and shown as pending until it is answered (client 15)`, async () => {
      const { client, simulator } = server()
      const agentId = await newAgent()
      simulator.script({ when: { attempt: 1 }, answer: { text: 'I ask.', calls: [POSTCARD] } })
      const requested = await sendIn(mode, client, { agentId, body: hello() })
      assert.deepEqual(typesIn(requested.messages), ['assistant_message', 'approval_request_message'])
      assert.equal(requested.stopReason, 'requires_approval')
      if (requested.events.length > 0) {
        const end = ['approval_request_message', 'stop_reason', 'usage_statistics']
        assert.deepEqual(typesIn(requested.events).slice(-3), end)
      }
      const request = requested.messages[1]
      assert.equal(request.tool_call.tool_call_id, 'call-card')
      assert.equal(request.tool_calls.length, 1)
      assert.deepEqual(JSON.parse(request.tool_call.arguments), POSTCARD.arguments)
      assert.notEqual(request.id, requested.messages[0].id)
      assert.equal(request.otid, request.id.slice('message-'.length))
      const run = await waitUntilSettled(client, requested.runId)
      assert.deepEqual([run.status, run.stop_reason], ['completed', 'requires_approval'])
      const waiting = await pending(agentId)
      assert.equal(waiting.last_stop_reason, 'requires_approval')
      assert.equal(waiting.pending_approval.id, request.id)
      await sendIn(mode, client, { agentId, body: approvalMessage(approveCall('call-card')) })
      const after = await pending(agentId)
      assert.deepEqual([after.pending_approval, after.last_stop_reason], [null, 'end_turn'])
    })

    test(`${mode}: an approved call runs, its result comes first, the turn continues, and the history has them in order (client 17, 18)`, async () => {
      const { client, simulator } = server()
      const agentId = await newAgent()
      const ask = { reasoning: { text: 'I may not.' }, text: 'I ask.', calls: [POSTCARD] }
      simulator.script({ when: { attempt: 1 }, answer: ask }, { answer: { text: 'Sent.' } })
      const requested = await sendIn(mode, client, { agentId, body: hello() })
      const request = requested.messages.at(-1)
      const answered = await sendIn(mode, client, { agentId, body: approvalMessage(approveCall('call-card')) })
      assert.deepEqual(typesIn(answered.messages), ['tool_return_message', 'assistant_message'])
      const [result] = answered.messages
      assert.deepEqual([result.tool_call_id, result.status], ['call-card', 'success'])
      assert.equal(result.step_id, request.step_id)
      assert.notEqual(answered.runId, requested.runId)

      const kept = await history(client, agentId)
      assert.deepEqual(typesIn(kept), [
        'user_message',
        'reasoning_message',
        'assistant_message',
        'approval_request_message',
        'approval_response_message',
        'tool_return_message',
        'assistant_message',
      ])
      assert.deepEqual([kept[3].id, kept[3].otid], [request.id, request.otid])
      assert.deepEqual([kept[4].approval_request_id, kept[4].approve], ['call-card', true])
      assert.equal((await client.messages.retrieve(request.id)).length, 3)
      assert.deepEqual(await history(client, agentId, { after: request.id, limit: 1 }), [kept[4]])

      // The same approval again: nothing happens twice.
      const again = await sendIn(mode, client, { agentId, body: approvalMessage(approveCall('call-card')) })
      assert.equal(again.runId, answered.runId)
      assert.equal((await history(client, agentId)).length, kept.length)
    })

    test(`${mode}: allowed and guarded calls of one answer are settled by one approval message, and a message sent with it follows (client 19, 20)`, async () => {
      const { client, simulator } = server()
      const agentId = await newAgent()
      const cards = ['a', 'b', 'c'].map((id) => ({ ...POSTCARD, id: `card-${id}` }))
      const calls = [{ id: 'dice', name: 'roll_dice', arguments: {} }, ...cards]
      simulator.script({ when: { attempt: 1 }, answer: { calls } }, { answer: { text: 'Settled.' } })
      const requested = await sendIn(mode, client, { agentId, body: hello() })
      assert.deepEqual(typesIn(requested.messages), ['tool_call_message', 'approval_request_message'])
      assert.deepEqual([requested.messages[0].tool_calls.length, requested.messages[1].tool_calls.length], [1, 3])

      const parts = [{ type: 'text', text: 'done at home' }]
      const result = { type: 'tool', tool_call_id: 'card-c', tool_return: parts, status: 'success' }
      const approval = approvalMessage(result, denyCall('card-b', 'no'), approveCall('card-a'))
      const body = { messages: [...approval.messages, { role: 'user', content: 'And now?' }] }
      const reply = await sendIn(mode, client, { agentId, body })
      assert.deepEqual(typesIn(reply.messages), ['tool_return_message', 'assistant_message'])
      const statuses = reply.messages[0].tool_returns.map(
        ({ tool_call_id, status }: WireValue) => `${tool_call_id} ${status}`,
      )
      assert.deepEqual(statuses, ['dice success', 'card-a success', 'card-b error', 'card-c success'])
      assert.equal(reply.messages[0].tool_returns[3].tool_return, 'done at home')
      const kept = typesIn(await history(client, agentId))
      assert.deepEqual(kept.slice(-3), ['tool_return_message', 'user_message', 'assistant_message'])
    })

    test(`${mode}: an approval whose turn was cancelled can be sent again: its tool does not run again, and the model continues (client 23)`, async () => {
      const { client, simulator, home } = server()
      const agentId = await newAgent()
      const to = crypto.randomUUID()
      const card = { ...POSTCARD, arguments: { to, message: 'hi' } }
      simulator.script({ when: { attempt: 1 }, answer: { calls: [card] } }, { answer: NEVER })
      await sendIn(mode, client, { agentId, body: hello() })
      const sending = sendIn(mode, client, { agentId, body: approvalMessage(approveCall('call-card')) })
      await simulator.waitForRequests(2)
      await client.agents.messages.cancel(agentId, {})
      const cut = await sending
      assert.equal(cut.stopReason, 'cancelled')
      assert.equal((await waitUntilSettled(client, cut.runId)).status, 'cancelled')
      assert.ok(typesIn(cut.messages).includes('tool_return_message'))
      assert.ok(typesIn(await history(client, agentId)).includes('tool_return_message'))

      simulator.script({ answer: { text: 'As I was saying.' } })
      const again = await sendIn(mode, client, { agentId, body: approvalMessage(approveCall('call-card')) })
      assert.equal(again.stopReason, 'end_turn')
      const kept = await history(client, agentId, { include_return_message_types: ['user_message'] })
      assert.match(kept.at(-1).content, /system_alert/)
      const sent = readFileSync(`${home}/outbox.jsonl`, 'utf8').split('\n')
      assert.equal(sent.filter((line) => line.includes(to)).length, 1)
    })
  }

  test('a cancelled approval can be sent again after compaction of the whole conversation (client 23)', async () => {
    const { client, simulator } = server()
    const agentId = await newAgent()
    simulator.script({ when: { attempt: 1 }, answer: { calls: [POSTCARD] } }, { answer: NEVER })
    await sendIn('blocking', client, { agentId, body: hello() })
    const sending = sendIn('token stream', client, { agentId, body: approvalMessage(approveCall('call-card')) })
    await simulator.waitForRequests(2)
    await client.agents.messages.cancel(agentId, {})
    await sending
    simulator.script({ answer: { text: 'A card was sent.' } })
    const made = await client.agents.messages.compact(agentId, { compaction_settings: { mode: 'all' } })
    assert.equal(made.num_messages_after, 2)
    assert.equal(
      (await sendIn('step stream', client, { agentId, body: approvalMessage(approveCall('call-card')) })).stopReason,
      'end_turn',
    )
    await contextWorks(agentId)
  })

  test('a denial is reported to the model with its reason, and the turn continues (client 17)', async () => {
    const { client, simulator } = server()
    const agentId = await newAgent()
    simulator.script({ when: { attempt: 1 }, answer: { calls: [POSTCARD] } }, { answer: { text: 'Then not.' } })
    await sendIn('blocking', client, { agentId, body: hello() })
    const body = approvalMessage(denyCall('call-card', 'too dear'))
    const { messages, stopReason } = await sendIn('step stream', client, { agentId, body })
    assert.deepEqual([messages[0].tool_call_id, messages[0].status], ['call-card', 'error'])
    assert.match(messages[0].tool_return, /too dear/)
    assert.equal(stopReason, 'end_turn')
    const response = (await history(client, agentId)).find(isResponse)
    const denied = { type: 'approval', tool_call_id: 'call-card', approve: false, reason: 'too dear' }
    assert.deepEqual([response.approvals, response.approve, response.reason], [[denied], false, 'too dear'])
    assert.ok(JSON.stringify(simulator.requests.at(-1)?.body).includes('too dear'))
  })

  test('a result that the client sends becomes the result of the call (client 17)', async () => {
    const { client, simulator } = server()
    const agentId = await newAgent()
    simulator.script({ when: { attempt: 1 }, answer: { calls: [POSTCARD] } }, { answer: { text: 'Good.' } })
    await sendIn('blocking', client, { agentId, body: hello() })
    const result = { type: 'tool', tool_call_id: 'call-card', tool_return: 'sent by hand', status: 'success' }
    const { messages } = await sendIn('token stream', client, { agentId, body: approvalMessage(result) })
    assert.deepEqual([messages[0].tool_return, messages[0].status], ['sent by hand', 'success'])
  })

  test('wrong approvals are refused with the texts that clients match, and the calls keep waiting (client 16)', async () => {
    const { client, simulator } = server()
    const agentId = await newAgent()
    const refused = async (body: object): Promise<{ status: number; text: string; headers: Headers }> => {
      try {
        await client.agents.messages.create(agentId, body as never)
      } catch (error) {
        const { status, error: answer, headers } = error as { status: number; error: unknown; headers: Headers }
        return { status, text: JSON.stringify(answer), headers }
      }
      throw new Error('it was not refused')
    }
    const none = await refused(approvalMessage(approveCall('call-card')))
    assert.equal(none.status, 400)
    assert.ok(none.text.includes('No tool call is currently awaiting approval'))

    simulator.script({ when: { attempt: 1 }, answer: { calls: [POSTCARD] } }, { answer: { text: 'Done.' } })
    const requested = await sendIn('blocking', client, { agentId, body: hello() })
    const wrong = await refused(approvalMessage(approveCall('call-other')))
    assert.equal(wrong.status, 400)
    assert.match(wrong.text, /invalid tool call ids/i)

    for (const streaming of [{}, { streaming: true }, { streaming: true, background: true, stream_tokens: true }]) {
      const waiting = await refused({ ...hello(), ...streaming })
      assert.equal(waiting.status, 409)
      assert.match(waiting.text, /waiting for approval/)
      assert.match(waiting.text, /Please approve or deny the pending request before continuing/)
      assert.match(waiting.text, new RegExp(requested.messages[0].id))
      assert.match(waiting.text, /call-card/)
      assert.equal(waiting.headers.get('x-should-retry'), 'false')
    }
    const { id } = requested.messages[0]
    const old = { messages: [{ type: 'approval', approve: true, approval_request_id: id }] }
    assert.equal((await sendIn('blocking', client, { agentId, body: old })).stopReason, 'end_turn')
  })

  test('an error between an approval and its answer leaves the agent usable (client 20)', async () => {
    const { client, simulator } = server()
    const agentId = await newAgent()
    simulator.script({ when: { attempt: 1 }, answer: { calls: [POSTCARD] } }, { answer: { error: 'invalid-request' } })
    await sendIn('blocking', client, { agentId, body: hello() })
    const body = {
      messages: [...approvalMessage(approveCall('call-card')).messages, { role: 'user', content: 'And then?' }],
    }
    await assert.rejects(sendIn('blocking', client, { agentId, body }))
    assert.equal(typesIn(await history(client, agentId)).at(-1), 'tool_return_message')
    await contextWorks(agentId)
    simulator.script({ answer: { text: 'Here I am.' } })
    assert.equal((await sendIn('token stream', client, { agentId, body: hello() })).stopReason, 'end_turn')
    assert.equal((await pending(agentId)).pending_approval, null)
  })

  test('the context of an agent can be read in every state of an approval (client 21)', async () => {
    const { client, simulator } = server()
    const agentId = await newAgent()
    await contextWorks(agentId)
    const calls = [POSTCARD, { id: 'dice', name: 'roll_dice', arguments: {} }]
    simulator.script({ when: { attempt: 1 }, answer: { calls } }, { answer: NEVER })
    await sendIn('blocking', client, { agentId, body: hello() })
    await contextWorks(agentId)
    const sending = readStream(
      await client.agents.messages.create(agentId, {
        ...approvalMessage(denyCall('call-card', 'no')),
        streaming: true,
      } as never),
    )
    await simulator.waitForRequests(2)
    await contextWorks(agentId)
    await client.agents.messages.cancel(agentId, {})
    await sending
    await contextWorks(agentId)
    simulator.script()
    await sendIn('blocking', client, { agentId, body: hello() })
    await contextWorks(agentId)
  })

  test('a tool runs without approval once approval is switched off, and needs it again once it is switched on (client 22)', async () => {
    const { client, simulator } = server()
    const agentId = await newAgent()
    const asks = (body_requires_approval: boolean) =>
      client.agents.tools.updateApproval('send_postcard', { agent_id: agentId, body_requires_approval })
    const send = () => {
      simulator.script({ when: { attempt: 1 }, answer: { calls: [POSTCARD] } }, { answer: { text: 'Sent.' } })
      return sendIn('blocking', client, { agentId, body: hello() })
    }
    await asks(false)
    const types = ['tool_call_message', 'tool_return_message', 'assistant_message']
    assert.deepEqual(typesIn((await send()).messages), types)
    await asks(true)
    assert.equal((await send()).stopReason, 'requires_approval')
  })

  for (const mode of MODES) {
    test(`${mode}: a client tool waits for the client's result and takes precedence over a server tool with the same name, for that request only (client 24)`, async () => {
      const { client, simulator } = server()
      const agentId = await newAgent()
      const parameters = { $schema: 'x', type: 'object', properties: {} }
      const client_tools = [{ name: 'roll_dice', description: 'Mine', parameters }]
      for (const [id, status, form] of [
        ['mine', 'success', 'tool_return'],
        ['mine-too', 'error', 'approval'],
      ] as const) {
        const call = { id, name: 'roll_dice', arguments: { any: 'thing' } }
        simulator.script({ when: { attempt: 1 }, answer: { calls: [call] } }, { answer: { text: 'Seven.' } })
        const requested = await sendIn(mode, client, { agentId, body: { ...hello(), client_tools } })
        assert.deepEqual(typesIn(requested.messages), ['approval_request_message'])
        assert.equal(requested.stopReason, 'requires_approval')
        assert.ok(JSON.stringify(simulator.requests.at(-1)?.body).includes('Mine'))
        const result = { type: 'tool', tool_call_id: id, tool_return: `seven ${status}`, status }
        const messages =
          form === 'approval' ? approvalMessage(result).messages : [{ type: form, tool_returns: [result] }]
        const reply = await sendIn(mode, client, { agentId, body: { messages, client_tools } })
        assert.deepEqual([reply.messages[0].tool_return, reply.messages[0].status], [`seven ${status}`, status])
        assert.equal(reply.stopReason, 'end_turn')
      }
      const ours = { id: 'ours', name: 'roll_dice', arguments: {} }
      simulator.script({ when: { attempt: 1 }, answer: { calls: [ours] } }, { answer: { text: 'Ok.' } })
      const { messages } = await sendIn(mode, client, { agentId, body: hello() })
      assert.deepEqual(typesIn(messages), ['tool_call_message', 'tool_return_message', 'assistant_message'])
    })
  }
}

const isResponse = ({ message_type }: WireValue) => message_type === 'approval_response_message'
