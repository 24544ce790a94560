import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { type Heard, heard, history, MODES, sendIn, settled, typesIn } from './send-modes.ts'
import { serveFor } from './served.ts'

const POSTCARD = { id: 'call-card', name: 'send_postcard', arguments: { to: 'Ada', message: 'hi' } }
const hello = { messages: [{ role: 'user', content: 'Send it' }] }
const word = (...approvals: object[]) => ({ messages: [{ type: 'approval', approvals }] })
const yes = (tool_call_id: string) => ({ type: 'approval', tool_call_id, approve: true })
const no = (tool_call_id: string, reason: string) => ({ type: 'approval', tool_call_id, approve: false, reason })

for (const mode of MODES) {
  test(`${mode}: a guarded call is asked for, then approved, and the turn goes on with its result`, async (t) => {
    const { client, agentId, simulator } = await serveFor(t)
    simulator.script(
      { when: { attempt: 1 }, answer: { text: 'I ask.', calls: [POSTCARD] } },
      { answer: { text: 'Sent.' } },
    )
    const asked = await sendIn(mode, client, { agentId, body: hello })
    assert.deepEqual(typesIn(asked.messages), ['assistant_message', 'approval_request_message'])
    assert.equal(asked.stopReason, 'requires_approval')
    const request = asked.messages[1]
    assert.equal(request.tool_call.tool_call_id, 'call-card')
    assert.equal(request.tool_calls.length, 1)
    assert.notEqual(request.id, asked.messages[0].id)
    assert.equal(request.otid, request.id.slice('message-'.length))
    assert.equal((await settled(client, asked.runId)).stop_reason, 'requires_approval')

    const answered = await sendIn(mode, client, { agentId, body: word(yes('call-card')) })
    assert.deepEqual(typesIn(answered.messages), ['tool_return_message', 'assistant_message'])
    assert.equal(answered.messages[0].tool_call_id, 'call-card')
    assert.equal(answered.messages[0].status, 'success')
    assert.equal(answered.messages[0].step_id, request.step_id)
    assert.notEqual(answered.runId, asked.runId)

    const kept = await history(client, agentId)
    const types = [
      'user_message',
      'assistant_message',
      'approval_request_message',
      'approval_response_message',
      'tool_return_message',
      'assistant_message',
    ]
    assert.deepEqual(typesIn(kept), types)
    assert.deepEqual([kept[2].id, kept[2].otid], [request.id, request.otid])
    assert.deepEqual([kept[3].approval_request_id, kept[3].approve], ['call-card', true])
    assert.equal((await client.messages.retrieve(request.id)).length, 2)
    assert.deepEqual(await history(client, agentId, { after: request.id, limit: 1 }), [kept[3]])

    // The same word once more: it was given, and nothing happens twice.
    const again = await sendIn(mode, client, { agentId, body: word(yes('call-card')) })
    assert.equal(again.runId, answered.runId)
    assert.equal((await history(client, agentId)).length, kept.length)
  })
}

test('a denial is told to the model with its reason, and the turn goes on', async (t) => {
  const { client, agentId, simulator } = await serveFor(t)
  simulator.script({ when: { attempt: 1 }, answer: { calls: [POSTCARD] } }, { answer: { text: 'Then not.' } })
  await sendIn('blocking', client, { agentId, body: hello })
  const { messages, stopReason } = await sendIn('step stream', client, {
    agentId,
    body: word(no('call-card', 'too dear')),
  })
  assert.equal(messages[0].status, 'error')
  assert.match(messages[0].tool_return, /too dear/)
  assert.equal(stopReason, 'end_turn')
  assert.deepEqual(
    (await history(client, agentId)).find(({ message_type }) => message_type === 'approval_response_message').approvals,
    [{ type: 'approval', tool_call_id: 'call-card', approve: false, reason: 'too dear' }],
  )
})

test('wrong words are refused in the phrases clients look for, and what waits goes on waiting', async (t) => {
  const { client, agentId, simulator } = await serveFor(t)
  const refused = async (body: object): Promise<{ status: number; text: string; headers: Headers }> => {
    try {
      await client.agents.messages.create(agentId, body as never)
    } catch (error) {
      const { status, error: told, headers } = error as { status: number; error: unknown; headers: Headers }
      return { status, text: JSON.stringify(told), headers }
    }
    throw new Error('it was not refused')
  }
  const none = await refused(word(yes('call-card')))
  assert.equal(none.status, 400)
  assert.ok(none.text.includes('No tool call is currently awaiting approval'))

  simulator.script({ when: { attempt: 1 }, answer: { calls: [POSTCARD] } }, { answer: { text: 'Done.' } })
  const asked = await sendIn('blocking', client, { agentId, body: hello })
  const wrong = await refused(word(yes('call-other')))
  assert.equal(wrong.status, 400)
  assert.match(wrong.text, /invalid tool call ids/i)

  const pending = await refused(hello)
  assert.equal(pending.status, 409)
  assert.match(pending.text, /waiting for approval/)
  assert.match(pending.text, /Please approve or deny the pending request before continuing/)
  assert.match(pending.text, new RegExp(asked.messages[0].id))
  assert.match(pending.text, /call-card/)
  assert.equal(pending.headers.get('x-should-retry'), 'false')
  for (const streaming of [{ streaming: true }, { streaming: true, background: true, stream_tokens: true }])
    assert.equal((await refused({ ...hello, ...streaming })).status, 409)

  const { id } = asked.messages[0]
  const old = { messages: [{ type: 'approval', approve: true, approval_request_id: id }] }
  assert.equal((await sendIn('blocking', client, { agentId, body: old })).stopReason, 'end_turn')
})

for (const mode of MODES) {
  test(`${mode}: allowed and guarded calls of one answer are settled together by one word`, async (t) => {
    const { client, agentId, simulator } = await serveFor(t)
    const cards = ['a', 'b', 'c'].map((id) => ({ ...POSTCARD, id: `card-${id}` }))
    const calls = [{ id: 'dice', name: 'roll_dice', arguments: {} }, ...cards]
    simulator.script({ when: { attempt: 1 }, answer: { calls } }, { answer: { text: 'Settled.' } })
    const asked = await sendIn(mode, client, { agentId, body: hello })
    assert.deepEqual(typesIn(asked.messages), ['tool_call_message', 'approval_request_message'])
    assert.equal(asked.messages[1].tool_calls.length, 3)

    const result = {
      type: 'tool',
      tool_call_id: 'card-c',
      tool_return: [{ type: 'text', text: 'done at home' }],
      status: 'success',
    }
    const body = {
      messages: [...word(result, no('card-b', 'no'), yes('card-a')).messages, { role: 'user', content: 'And now?' }],
    }
    const reply = await sendIn(mode, client, { agentId, body })
    assert.deepEqual(typesIn(reply.messages), ['tool_return_message', 'assistant_message'])
    const told = reply.messages[0].tool_returns.map(({ tool_call_id, status }: Heard) => [tool_call_id, status])
    assert.deepEqual(told, [
      ['dice', 'success'],
      ['card-a', 'success'],
      ['card-b', 'error'],
      ['card-c', 'success'],
    ])
    assert.equal(reply.messages[0].tool_returns[3].tool_return, 'done at home')
    const kept = typesIn(await history(client, agentId))
    assert.deepEqual(kept.slice(-3), ['tool_return_message', 'user_message', 'assistant_message'])
  })

  test(`${mode}: a client's own tool waits for its result, and goes before ours of the same name for that request only`, async (t) => {
    const { client, agentId, simulator } = await serveFor(t)
    const client_tools = [
      { name: 'roll_dice', description: 'Mine', parameters: { $schema: 'x', type: 'object', properties: {} } },
    ]
    const call = { id: 'mine', name: 'roll_dice', arguments: { any: 'thing' } }
    simulator.script({ when: { attempt: 1 }, answer: { calls: [call] } }, { answer: { text: 'Seven.' } })
    const asked = await sendIn(mode, client, { agentId, body: { ...hello, client_tools } })
    assert.deepEqual(typesIn(asked.messages), ['approval_request_message'])
    assert.ok(JSON.stringify(simulator.requests[0]?.body).includes('Mine'))

    const results = [{ tool_call_id: 'mine', tool_return: 'seven', status: 'success' }]
    const body = { messages: [{ type: 'tool_return', tool_returns: results }], client_tools }
    const reply = await sendIn(mode, client, { agentId, body })
    assert.equal(reply.messages[0].tool_return, 'seven')
    assert.equal(reply.stopReason, 'end_turn')

    simulator.script(
      { when: { attempt: 1 }, answer: { calls: [{ ...call, id: 'ours', arguments: {} }] } },
      { answer: { text: 'Ok.' } },
    )
    const ours = await sendIn(mode, client, { agentId, body: hello })
    assert.deepEqual(typesIn(ours.messages), ['tool_call_message', 'tool_return_message', 'assistant_message'])
  })
}

test('an approval whose turn was cancelled on the way can be sent again: the tool does not run again, the model goes on', async (t) => {
  const { client, agentId, simulator, home } = await serveFor(t)
  const slow = { text: 'word '.repeat(400), pace: { everyMs: 20, charactersPerChunk: 5 } }
  simulator.script({ when: { attempt: 1 }, answer: { calls: [POSTCARD] } }, { answer: slow })
  await sendIn('token stream', client, { agentId, body: hello })
  const sending = client.agents.messages.create(agentId, { ...word(yes('call-card')), streaming: true } as never)
  await simulator.waitForRequests(2)
  await client.agents.messages.cancel(agentId, {})
  const cut = await heard(await sending)
  assert.equal(cut.stopReason, 'cancelled')
  assert.ok(typesIn(cut.messages).includes('tool_return_message'))

  simulator.script({ answer: { text: 'As I was saying.' } })
  const again = await sendIn('step stream', client, { agentId, body: word(yes('call-card')) })
  assert.equal(again.stopReason, 'end_turn')
  const kept = await history(client, agentId)
  assert.ok(kept.some(({ message_type, content }) => message_type === 'user_message' && /system_alert/.test(content)))
  assert.equal(readFileSync(`${home}/outbox.jsonl`, 'utf8').trim().split('\n').length, 1)
})

test('cancelling what waits denies its calls, and the agent takes messages again', async (t) => {
  const { client, agentId, simulator } = await serveFor(t)
  simulator.script({ when: { attempt: 1 }, answer: { calls: [POSTCARD] } }, { answer: { text: 'Hello again.' } })
  const { runId } = await sendIn('blocking', client, { agentId, body: hello })
  assert.deepEqual(await client.agents.messages.cancel(agentId, { run_ids: [runId] }), { [runId]: 'cancelled' })
  const kept = await history(client, agentId)
  assert.deepEqual(typesIn(kept).slice(-2), ['approval_response_message', 'tool_return_message'])
  assert.equal(kept.at(-1).status, 'error')
  assert.equal((await sendIn('blocking', client, { agentId, body: hello })).stopReason, 'end_turn')
})
