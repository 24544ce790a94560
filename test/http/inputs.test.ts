import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ModelRequest } from '../../src/ports/model.ts'
import { checkStore } from '../../src/service/store/check-store.ts'
import { success } from '../../src/tools/define-tool.ts'
import { tool } from '../harness/tools.ts'
import { serveFixture } from './fixture-resource-server.ts'
import { history, readStream, typesIn, type WireValue } from './send-modes.ts'

const MODEL = 'test/model'
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const shown = (request: ModelRequest | undefined) => request!.messages.map(({ role }) => role)

test('an assistant message in a request becomes history and is not part of the response', async (context) => {
  const { client, fixture, fetch } = await serveFixture(context, { script: [{ text: 'Indeed.' }, { text: 'Indeed.' }] })
  const agent = await client.agents.create({ model: MODEL, include_base_tools: false })
  const messages = [
    { role: 'user', content: 'Who are you?' },
    { role: 'assistant', content: 'I am Ada.', otid: 'said-before' },
    { role: 'user', content: [{ type: 'text', text: 'Really?' }] },
  ]
  const reply = (await client.agents.messages.create(agent.id, { messages } as never)) as WireValue
  assert.deepEqual(
    reply.messages.map(({ content }: WireValue) => content),
    ['Indeed.'],
  )
  assert.deepEqual(shown(fixture.requests.at(-1)), ['user', 'assistant', 'user'])
  const kept = await history(client, agent.id)
  assert.deepEqual(typesIn(kept), ['user_message', 'assistant_message', 'user_message', 'assistant_message'])
  assert.equal(kept[1].content, 'I am Ada.')
  const streamed = await client.agents.messages.create(agent.id, { messages, streaming: true } as never)
  assert.deepEqual(typesIn((await readStream(streamed)).messages), ['assistant_message'])
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } }
  const bad = { messages: [{ role: 'assistant', content: [image] }] }
  assert.equal((await fetch('POST', `/v1/agents/${agent.id}/messages`, bad)).status, 422)
  assert.deepEqual((await checkStore(fixture.context)).violations, [])
})

test('an agent can be created with messages, which come before all others', async (context) => {
  const { client, fixture, fetch } = await serveFixture(context, { script: [{ text: 'Hi.' }] })
  const sequence = [
    { role: 'user', content: 'Hello' },
    { role: 'assistant', content: 'Good day.' },
  ]
  const agent = await client.agents.create({ model: MODEL, initial_message_sequence: sequence as never })
  const before = (await client.agents.messages.list(agent.id)).getPaginatedItems() as WireValue[]
  assert.deepEqual(typesIn(before), ['system_message', 'user_message', 'assistant_message'])
  assert.deepEqual(
    agent.message_ids,
    before.map(({ id }) => id),
  )
  assert.deepEqual([before[1].run_id, before[1].step_id], [null, null])
  await client.agents.messages.create(agent.id, { input: 'And?' })
  assert.deepEqual(shown(fixture.requests.at(-1)), ['user', 'assistant', 'user'])
  const fork = await client.conversations.fork('default', { agent_id: agent.id })
  assert.equal((await client.conversations.messages.list(fork.id)).getPaginatedItems().length, 5)
  for (const initial_message_sequence of [[{ role: 'king', content: 'x' }], [{ role: 'user' }], 'x'])
    assert.equal((await fetch('POST', '/v1/agents/', { model: MODEL, initial_message_sequence })).status, 422)
  assert.deepEqual((await checkStore(fixture.context)).violations, [])
})

test('skills of the client are in the prompt of one request and not in the stored prompt', async (context) => {
  const { client, fixture } = await serveFixture(context, { script: [{ text: 'Hi.' }] })
  const agent = await client.agents.create({ model: MODEL, system: 'Be brief.' })
  const client_skills = [{ name: 'knitting', description: 'makes socks', location: '/skills/knitting.md' }]
  const { id } = await client.conversations.create({ agent_id: agent.id })
  await readStream(await client.conversations.messages.create(id, { input: 'Hello', client_skills } as never))
  const { system } = fixture.requests.at(-1)!
  assert.match(system, /^Be brief\./)
  assert.match(system, /knitting: makes socks \(\/skills\/knitting\.md\)/)
  await readStream(
    await client.conversations.messages.create(id, { input: 'x', client_skills, override_system: 'O.' } as never),
  )
  assert.match(fixture.requests.at(-1)!.system, /^O\.\n\n<available_skills>/)
  await readStream(await client.conversations.messages.create(id, { input: 'Again' } as never))
  assert.ok(!fixture.requests.at(-1)!.system.includes('knitting'))
  const [told] = (
    await client.conversations.messages.list(id, { order: 'asc', limit: 1 })
  ).getPaginatedItems() as WireValue[]
  assert.ok(!told.content.includes('knitting'))
})

test('a tool with an exit_loop rule ends the turn when it succeeds, and the rule is listed', async (context) => {
  let isBroken = true
  const done = tool('done', () => {
    if (!isBroken) return success('done')
    isBroken = false
    throw new Error('not yet')
  })
  const { client, fixture } = await serveFixture(context, {
    tools: [done],
    script: [{ calls: [{ tool: 'done', input: {} }] }, { calls: [{ tool: 'done', input: {} }] }, { text: 'Too much.' }],
  })
  const rule = { type: 'exit_loop', tool_name: 'done' }
  const agent = await client.agents.create({
    model: MODEL,
    tools: ['done'],
    include_base_tools: false,
    tool_rules: [rule] as never,
  })
  assert.deepEqual(agent.tool_rules, [rule])
  const reply = (await client.agents.messages.create(agent.id, { input: 'Do it' })) as WireValue
  assert.equal(reply.stop_reason.stop_reason, 'tool_rule')
  assert.equal(fixture.requests.length, 2)
  assert.equal((await client.runs.retrieve(reply.usage.run_ids[0])).status, 'completed')
  assert.deepEqual((await checkStore(fixture.context)).violations, [])
})

test('the result of a client tool can contain images, for the model and in the history', async (context) => {
  const { client, fixture } = await serveFixture(context, {
    script: [{ calls: [{ tool: 'camera', input: {} }] }, { text: 'A pixel.' }],
  })
  const agent = await client.agents.create({ model: MODEL, include_base_tools: false })
  const client_tools = [
    { name: 'camera', description: 'takes a picture', parameters: { $schema: 'x', type: 'object' } },
  ]
  const asked = (await client.agents.messages.create(agent.id, { input: 'Look', client_tools } as never)) as WireValue
  const { tool_call_id } = asked.messages.at(-1).tool_call
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } }
  const tool_return = [{ type: 'text', text: 'seen' }, image]
  const approvals = [{ type: 'tool', tool_call_id, tool_return, status: 'success' }]
  const body = { messages: [{ type: 'approval', approvals }], client_tools }
  const reply = (await client.agents.messages.create(agent.id, body as never)) as WireValue
  assert.deepEqual(typesIn(reply.messages), ['tool_return_message', 'assistant_message'])
  const result = fixture.requests.at(-1)!.messages.findLast(({ role }) => role === 'tool') as WireValue
  assert.equal(result.outcomes[0].images.length, 1)
  const kept = (await history(client, agent.id)).find(({ message_type }) => message_type === 'tool_return_message')
  assert.equal(kept.tool_return, 'seen')
  assert.equal(kept.tool_returns[0].tool_return[1].source.data, PIXEL)
})
