import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { textOf } from '../../src/core/message.ts'
import { scriptOf } from '../../src/providers/scripted/script.ts'
import { success } from '../../src/tools/define-tool.ts'
import { gate, tool } from '../harness/tools.ts'
import { serveFixture, statusOf } from './fixture-resource-server.ts'
import type { WireValue } from './send-modes.ts'

/** A server whose agent is in the middle of a tool call until `mayGoOn` opens; `of` has settings of that turn. */
async function serveBusy(t: TestContext, of: object = {}) {
  const mayGoOn = gate()
  const started = gate()
  let count = 0
  const hold = tool('hold', async (_, { signal }) => {
    // Only the first call waits; each message makes the scripted model call the tool again.
    if (count++ > 0) return success('held')
    started.open()
    const cancelled = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
    await Promise.race([mayGoOn.promise, cancelled])
    return success('held')
  })
  const script = scriptOf({ calls: [{ tool: 'hold', input: {} }] }, { text: 'One.' })
  const served = await serveFixture(t, { script, tools: [hold] })
  const { client, fixture } = served
  const agentId = fixture.agent.id
  const first = await client.agents.messages.createAsync(agentId, { input: 'go', ...of })
  await started.promise
  const say = (input: string, more: object = {}): Promise<WireValue> =>
    client.agents.messages.createAsync(agentId, { input, ...more } as never) as never
  const texts = async () =>
    (await fixture.messages()).flatMap(({ body }) =>
      'content' in body && textOf(body.content) !== '' ? [textOf(body.content)] : [],
    )
  const conversation = `/v1/conversations/${fixture.conversationId}/messages`
  return { ...served, agentId, first, mayGoOn, say, texts, conversation }
}

test('queue: the message has a run of its own, after the running one', async (t) => {
  const { fixture, first, say, mayGoOn, texts } = await serveBusy(t)
  const sent = await say('second', { when_busy: 'queue' })
  assert.notEqual(sent.id, first.id)
  assert.deepEqual([sent.queued, sent.steered, sent.status], [true, false, 'created'])
  mayGoOn.open()
  await fixture.wait(sent.id)
  assert.deepEqual(await texts(), ['go', 'One.', 'second', 'One.'])
})

test('steer: the message joins the running turn, and the sender gets what that turn does from there on', async (t) => {
  const { client, agentId, fixture, first, say, mayGoOn, texts } = await serveBusy(t)
  const sent = await say('and this', { when_busy: 'steer' })
  assert.deepEqual([sent.id, sent.queued, sent.steered], [first.id, false, true])
  const blocking = client.agents.messages
    .create(agentId, { input: 'wait for it', streaming: false, when_busy: 'steer' } as never)
    .withResponse()
  const stream = await client.agents.messages.create(agentId, {
    input: 'show it',
    streaming: true,
    when_busy: 'steer',
  } as never)
  const events: WireValue[] = []
  const reading = (async () => {
    for await (const event of stream as never as AsyncIterable<WireValue>) events.push(event)
  })()
  while ((await fixture.events(first.id as never)).filter(({ type }) => type === 'input-steered').length < 3)
    await new Promise((resolve) => setImmediate(resolve))
  mayGoOn.open()
  const { data, response } = await blocking
  await reading
  assert.equal(response.headers.get('x-holdfast-run'), first.id)
  assert.equal(response.headers.get('x-holdfast-steered'), 'true')
  const shown = (data as WireValue).messages.map(({ message_type }: WireValue) => message_type)
  const rest = ['tool_return_message', 'tool_call_message', 'tool_return_message', 'assistant_message']
  assert.deepEqual(shown, rest)
  const streamed = events.map(({ message_type }) => message_type).filter((type) => type !== 'ping')
  assert.deepEqual(streamed, [...rest, 'stop_reason', 'usage_statistics'])
  assert.deepEqual(await texts(), ['go', 'and this', 'wait for it', 'show it', 'One.'])
})

test('a steer that its turn ends without reading is a run of its own, and its sender is shown that run', async (t) => {
  const { client, agentId, fixture, first, mayGoOn, texts } = await serveBusy(t, { max_steps: 1 })
  const options = { streaming: false, when_busy: 'steer' }
  const blocking = client.agents.messages.create(agentId, { input: 'wait for it', ...options } as never).withResponse()
  const steered = async () => (await fixture.events(first.id as never)).filter(({ type }) => type === 'input-steered')
  while ((await steered()).length < 1) await new Promise((resolve) => setImmediate(resolve))
  const { data: stream, response: opened } = await client.agents.messages
    .create(agentId, { input: 'show it', ...options, streaming: true } as never)
    .withResponse()
  const joined = opened.headers.get('x-holdfast-run')
  assert.deepEqual([joined, opened.headers.get('x-holdfast-steered')], [first.id, 'true'])
  const events: WireValue[] = []
  const reading = (async () => {
    for await (const event of stream as never as AsyncIterable<WireValue>) events.push(event)
  })()
  mayGoOn.open()
  const { data, response } = await blocking
  await reading
  assert.equal((await fixture.wait(first.id as never)).stopReason, 'max_steps')
  assert.deepEqual(await texts(), ['go', 'wait for it', 'One.', 'show it', 'One.'])

  const own = response.headers.get('x-holdfast-run')!
  assert.notEqual(own, first.id, 'the response names the run of the message')
  const answer = ['tool_call_message', 'tool_return_message', 'assistant_message']
  const typesOf = (messages: WireValue[]) => messages.map(({ message_type }) => message_type)
  assert.deepEqual(typesOf((data as WireValue).messages), answer)
  assert.equal((data as WireValue).stop_reason.stop_reason, 'end_turn')
  assert.deepEqual((data as WireValue).usage.run_ids, [own])

  const shown = events.filter(({ message_type }) => message_type !== 'ping')
  assert.deepEqual(typesOf(shown), ['tool_return_message', ...answer, 'stop_reason', 'usage_statistics'])
  assert.deepEqual(
    shown.flatMap(({ stop_reason }) => stop_reason ?? []),
    ['end_turn'],
    'the end of the turn that did not read the message is not the end of the stream',
  )
  const [ofFirst, ...ofOwn] = shown.slice(0, -2).map(({ run_id }) => run_id)
  assert.equal(ofFirst, first.id)
  assert.equal(new Set(ofOwn).size, 1)
  assert.ok(![first.id, own].includes(ofOwn[0]))
})

test('interrupt: the running turn is cancelled and the message goes next, before those that are queued', async (t) => {
  const { client, agentId, fixture, first, say, texts } = await serveBusy(t)
  const queued = await say('later')
  const { data, response } = await client.agents.messages
    .create(agentId, { input: 'now', streaming: false, when_busy: 'interrupt' } as never)
    .withResponse()
  assert.equal(response.headers.get('x-holdfast-interrupted'), first.id)
  assert.equal(response.headers.get('x-holdfast-queued'), 'true')
  assert.equal((data as WireValue).stop_reason.stop_reason, 'end_turn')
  assert.equal((await fixture.wait(first.id as never)).status, 'cancelled')
  await fixture.wait(queued.id)
  assert.deepEqual((await texts()).slice(1), ['now', 'One.', 'later', 'One.'])
})

test('reject: the message is refused with 409, and nothing is stored of it', async (t) => {
  const { client, agentId, conversation, fetch, mayGoOn, fixture, first, texts } = await serveBusy(t)
  const refused = client.agents.messages.create(agentId, {
    input: 'no',
    streaming: false,
    when_busy: 'reject',
  } as never)
  assert.equal(await statusOf(refused), 409)
  assert.equal((await fetch('POST', conversation, { input: 'no', streaming: false })).status, 409, 'the default')
  mayGoOn.open()
  await fixture.wait(first.id as never)
  assert.deepEqual(await texts(), ['go', 'One.'])
})

test('the header chooses as the body does, both must agree, and the agent has a default', async (t) => {
  const { client, agentId, fetch, say, fixture, first, mayGoOn } = await serveBusy(t)
  const header = (value: string, body: object = {}) =>
    client.agents.messages.createAsync(agentId, { input: 'x', ...body } as never, {
      headers: { 'x-holdfast-when-busy': value },
    })
  assert.equal(await statusOf(header('reject')), 409)
  assert.equal(await statusOf(header('sometimes')), 422)
  assert.equal(await statusOf(header('reject', { when_busy: 'queue' })), 422)
  assert.equal(await statusOf(header('reject', { when_busy: 'reject' })), 409)
  assert.equal(await statusOf(say('x', { when_busy: 'steer', max_steps: 3 })), 422, 'a steer has no settings')
  assert.equal(await statusOf(say('x', { when_busy: 'steer', enable_thinking: 'false' })), 422)
  const update = (body: object) => fetch('PATCH', `/v1/agents/${agentId}`, body) as Promise<WireValue>
  assert.equal((await update({ when_busy: 'steer' })).body.when_busy, 'steer')
  assert.equal((await say('by default')).id, first.id)
  assert.equal((await say('with settings', { max_steps: 3 })).queued, true, 'a default does not refuse settings')
  assert.equal((await update({ name: 'ada' })).body.when_busy, 'steer')
  assert.equal((await update({ when_busy: null })).body.when_busy, null)
  assert.equal((await say('queued')).queued, true)
  mayGoOn.open()
  await fixture.wait(first.id as never)
})

test('a retried request has its effect once in every mode', async (t) => {
  const { fetch, agentId, mayGoOn, fixture, first, texts } = await serveBusy(t)
  const send = (text: string, when_busy: string) =>
    fetch('POST', `/v1/agents/${agentId}/messages/async`, {
      messages: [{ role: 'user', content: text, otid: text }],
      when_busy,
    }) as Promise<WireValue>
  for (const mode of ['steer', 'queue']) {
    const { body: one } = await send(`by ${mode}`, mode)
    assert.equal((await send(`by ${mode}`, mode)).body.id, one.id)
  }
  const { body: cut } = await send('by interrupt', 'interrupt')
  assert.equal((await send('by interrupt', 'interrupt')).body.id, cut.id)
  mayGoOn.open()
  await fixture.wait(first.id as never)
  await fixture.wait(cut.id)
  const said = (await texts()).filter((text) => text.startsWith('by '))
  assert.deepEqual(said.slice(0, 2), ['by steer', 'by interrupt'])
})

test('reset-messages empties the lists and the search, and the past stays in the runs', async (t) => {
  const script = scriptOf({ text: 'Marmalade.' }, { text: 'Fresh.' })
  const { client, fixture, fetch } = await serveFixture(t, { script })
  const agentId = fixture.agent.id
  const { id: runId } = await client.agents.messages.createAsync(agentId, { input: 'Say marmalade' })
  await fixture.wait(runId as never)
  const listed = async () =>
    (await client.agents.messages.list(agentId, { order: 'asc' })).getPaginatedItems().map((one) => one.message_type)
  assert.deepEqual(await listed(), ['system_message', 'user_message', 'assistant_message'])
  await client.agents.messages.reset(agentId, { add_default_initial_messages: true })
  assert.deepEqual(await listed(), ['system_message'])
  const found = (await fetch('POST', '/v1/messages/search', { query: 'marmalade' })) as WireValue
  assert.deepEqual(found.body, [])
  assert.equal(((await fetch('GET', '/v1/messages/')) as WireValue).body.length, 0)
  const past = (await client.runs.messages.list(runId)).getPaginatedItems().map((one) => one.message_type)
  assert.ok(past.includes('assistant_message'), past.join())
  const next = await client.agents.messages.createAsync(agentId, { input: 'Again' })
  await fixture.wait(next.id as never)
  assert.deepEqual(await listed(), ['system_message', 'user_message', 'assistant_message'])
  await client.agents.messages.reset(agentId, {})
  assert.deepEqual(await listed(), ['system_message'], 'a second reset clears what came after the first')
})
