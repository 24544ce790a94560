import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { checkStore } from '../../src/service/store/check-store.ts'
import { success } from '../../src/tools/define-tool.ts'
import { queueModel, says } from '../harness/queue-model.ts'
import { gate, tool } from '../harness/tools.ts'
import { type ResourceServerFixture, serveFixture, statusOf } from './fixture-resource-server.ts'
import { isSystemPrompt, readStream, typesIn, type WireValue } from './send-modes.ts'

const MODEL = 'test/model'
const hello = (content = 'Hello', more: object = {}) => ({ messages: [{ role: 'user', content }], ...more }) as never
const script = [{ text: 'Hi.' }]

async function listed(client: ResourceServerFixture['client'], id: string, query: object = {}): Promise<WireValue[]> {
  return (await client.conversations.messages.list(id, query as never)).getPaginatedItems()
}

const refused = async (work: PromiseLike<unknown>): Promise<WireValue> => {
  try {
    await work
  } catch (fault) {
    return fault
  }
  throw new Error('it was not refused')
}

const idsIn = (items: readonly { id: string }[]): string[] => items.map(({ id }) => id)
const contentsOf = (messages: WireValue[]): string[] =>
  messages.filter((one) => !isSystemPrompt(one)).map(({ content }) => content)

/** An agent whose second step waits for a gate, so that a test decides how long its conversation is busy. */
async function serveBusy(context: Parameters<typeof serveFixture>[0]) {
  const wait = gate()
  const began = gate()
  const held = tool('hold', async (_, { signal }) => {
    began.open()
    const stopped = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
    await Promise.race([wait.promise, stopped])
    return success('held')
  })
  const served = await serveFixture(context, {
    tools: [held],
    script: (request) => {
      const last = JSON.stringify(request.messages.at(-1))
      return last.includes('Hold') || last.includes('"held"')
        ? [{ calls: [{ tool: 'hold', input: {} }] }, { text: 'Held.' }]
        : script
    },
  })
  const agent = await served.client.agents.create({ model: MODEL, tools: ['hold'], include_base_tools: false })
  return { ...served, agent, wait, began }
}

test('conversations are created, read, updated, listed and deleted', async (context) => {
  const { client, fetch, fixture } = await serveFixture(context, { script })
  const agent = await client.agents.create({ model: MODEL })
  const other = await client.agents.create({ model: MODEL })
  const one = await client.conversations.create({ agent_id: agent.id, summary: 'About whales' })
  const two = await client.conversations.create({ agent_id: agent.id, model: 'test/other', hidden: false })
  const foreign = await client.conversations.create({ agent_id: other.id })
  const hidden = await client.conversations.create({ agent_id: agent.id, hidden: true })
  assert.match(one.id, /^conv-/)
  assert.deepEqual([one.summary, one.archived, one.model, one.last_message_at], ['About whales', false, null, null])
  assert.equal(one.in_context_message_ids?.length, 1)
  assert.deepEqual(await client.conversations.retrieve(one.id), one)

  const ids = async (query: object) => idsIn(await client.conversations.list(query as never))
  assert.deepEqual(await ids({ agent_id: agent.id }), [two.id, one.id])
  assert.deepEqual(await ids({}), [foreign.id, two.id, one.id])
  assert.deepEqual(await ids({ agent_id: agent.id, order: 'asc', limit: 1 }), [one.id])
  assert.deepEqual(await ids({ agent_id: agent.id, after: two.id }), [one.id])
  assert.deepEqual(await ids({ summary_search: 'WHALE' }), [one.id])
  assert.equal(await statusOf(client.conversations.list({ after: `conv-${randomUUID()}` })), 404)
  assert.equal((await client.conversations.retrieve(hidden.id)).id, hidden.id)

  await readStream(await client.conversations.messages.create(one.id, hello()))
  assert.deepEqual(await ids({ agent_id: agent.id, order_by: 'last_message_at' }), [one.id, two.id])
  assert.deepEqual(await ids({ agent_id: agent.id, order_by: 'last_run_completion', order: 'asc' }), [two.id, one.id])
  assert.ok((await client.conversations.retrieve(one.id)).last_message_at)

  const changed = await client.conversations.update(one.id, { summary: 'About sharks', archived: true })
  assert.deepEqual([changed.summary, changed.archived], ['About sharks', true])
  assert.ok(changed.archived_at)
  assert.deepEqual(await ids({ agent_id: agent.id }), [two.id])
  assert.deepEqual(await ids({ agent_id: agent.id, archive_status: 'archived' }), [one.id])
  assert.deepEqual(await ids({ agent_id: agent.id, archive_status: 'all' }), [two.id, one.id])
  const cleared = await client.conversations.update(one.id, { summary: null, archived: false })
  assert.deepEqual([cleared.summary, cleared.archived, cleared.archived_at], [null, false, null])

  await client.conversations.delete(one.id)
  assert.equal(await statusOf(client.conversations.retrieve(one.id)), 404)
  assert.equal(await statusOf(client.conversations.update(one.id, { summary: 'x' })), 404)
  assert.equal(await statusOf(client.conversations.delete(one.id)), 404)
  assert.equal(await statusOf(client.conversations.messages.create(one.id, hello())), 404)
  assert.equal(await statusOf(listed(client, one.id)), 404)
  assert.deepEqual(await ids({ agent_id: agent.id, archive_status: 'all' }), [two.id])

  const bad: [string, string, unknown, number][] = [
    ['POST', '/v1/conversations/', {}, 422],
    ['POST', `/v1/conversations/?agent_id=agent-${randomUUID()}`, {}, 404],
    ['POST', `/v1/conversations/?agent_id=${agent.id}`, { model: 'nobody/none' }, 404],
    ['POST', `/v1/conversations/?agent_id=${agent.id}`, { summary: 7 }, 422],
    ['POST', `/v1/conversations/?agent_id=${agent.id}`, { isolated_block_labels: ['no such label'] }, 422],
    ['GET', '/v1/conversations/conv-1', undefined, 422],
    ['GET', `/v1/conversations/conv-${randomUUID()}`, undefined, 404],
    ['GET', '/v1/conversations/default', undefined, 404],
    ['GET', '/v1/conversations/?order_by=mood', undefined, 422],
    ['PATCH', `/v1/conversations/${two.id}`, { last_message_at: 'yesterday' }, 422],
    ['DELETE', `/v1/conversations/default?agent_id=${agent.id}`, undefined, 422],
    ['POST', `/v1/conversations/${two.id}/fork?message_id=message-1`, undefined, 422],
    ['POST', `/v1/conversations/${two.id}/fork?message_id=message-${randomUUID()}`, undefined, 404],
    ['POST', `/v1/conversations/${two.id}/messages`, { messages: [] }, 422],
    [
      'POST',
      `/v1/conversations/${two.id}/messages`,
      { ...(hello() as object), streaming: false, background: true },
      422,
    ],
    ['GET', `/v1/conversations/${two.id}/messages?before=message-${randomUUID()}`, undefined, 404],
    ['POST', `/v1/conversations/${two.id}/compact`, {}, 400],
    ['POST', `/v1/conversations/${two.id}/stream`, { run_id: `run-${randomUUID()}` }, 404],
  ]
  for (const [method, path, body, status] of bad) {
    const answer = await fetch(method, path, body)
    assert.equal(answer.status, status, `${method} ${path}`)
    assert.equal(typeof (answer.body as { detail: unknown }).detail, 'string')
  }
  assert.deepEqual(fixture.faults, [])
})

test('a conversation starts with its system prompt and can be paged from either end without repetition', async (context) => {
  const { client } = await serveFixture(context, { script: [{ text: 'Yes.' }] })
  const agent = await client.agents.create({ model: MODEL, memory_blocks: [{ label: 'human', value: 'Ada' }] })
  const { id } = await client.conversations.create({ agent_id: agent.id })
  for (const word of ['one', 'two', 'three'])
    await readStream(await client.conversations.messages.create(id, hello(word)))

  const forward = await listed(client, id, { order: 'asc' })
  assert.deepEqual(typesIn(forward).slice(0, 3), ['system_message', 'user_message', 'assistant_message'])
  assert.match(forward[0].content, new RegExp(`AGENT_ID: ${agent.id}`))
  assert.match(forward[0].content, new RegExp(`CONVERSATION_ID: ${id}`))
  assert.deepEqual(contentsOf(forward), ['one', 'Yes.', 'two', 'Yes.', 'three', 'Yes.'])
  assert.deepEqual(await listed(client, id), forward.toReversed())
  assert.deepEqual((await client.conversations.retrieve(id)).in_context_message_ids, idsIn(forward))
  assert.deepEqual(await client.messages.retrieve(forward[0].id), [forward[0]])

  for (const order of ['asc', 'desc'])
    for (const limit of [1, 2, 3, 7, 50]) {
      const walked: WireValue[] = []
      for await (const message of client.conversations.messages.list(id, { order, limit } as never))
        walked.push(message)
      assert.deepEqual(walked, order === 'asc' ? forward : forward.toReversed(), `${order} in pages of ${limit}`)
      const back: WireValue[] = []
      for (let before: string | undefined = (order === 'asc' ? forward.at(-1) : forward[0]).id; before; ) {
        const page = await listed(client, id, { order, limit, before })
        back.unshift(...page)
        before = page[0]?.id
      }
      const rest = order === 'asc' ? forward.slice(0, -1) : forward.slice(1).toReversed()
      assert.deepEqual(back, rest, `${order} back in pages of ${limit}`)
    }
  const types = { include_return_message_types: ['user_message'] }
  assert.deepEqual(contentsOf(await listed(client, id, types)), ['three', 'two', 'one'])
  // The default conversation names itself `default`.
  const own = (await client.agents.messages.list(agent.id)).getPaginatedItems() as WireValue[]
  assert.deepEqual(typesIn(own), ['system_message'])
  assert.match(own[0].content, /CONVERSATION_ID: default/)
})

test('a fork has the same messages under the same ids, and later messages are separate', async (context) => {
  const { client, fixture } = await serveFixture(context, { script })
  const agent = await client.agents.create({ model: MODEL, memory_blocks: [{ label: 'human', value: 'old' }] })
  const source = await client.conversations.create({ agent_id: agent.id, summary: 'Titled' })
  for (const word of ['one', 'two'])
    await readStream(await client.conversations.messages.create(source.id, hello(word)))
  await client.agents.blocks.update('human', { agent_id: agent.id, value: 'new' })
  const before = await listed(client, source.id, { order: 'asc' })

  const fork = await client.conversations.fork(source.id)
  const copied = await listed(client, fork.id, { order: 'asc' })
  assert.deepEqual([fork.agent_id, fork.summary], [agent.id, 'Titled'])
  assert.deepEqual(copied.slice(1), before.slice(1))
  assert.notEqual(copied[0].id, before[0].id)
  assert.match(copied[0].content, /new/)
  assert.match(before[0].content, /old/)

  await readStream(await client.conversations.messages.create(fork.id, hello('only here')))
  await readStream(await client.conversations.messages.create(source.id, hello('only there')))
  assert.deepEqual(contentsOf(await listed(client, fork.id, { order: 'asc' })), [
    'one',
    'Hi.',
    'two',
    'Hi.',
    'only here',
    'Hi.',
  ])
  assert.deepEqual(contentsOf(await listed(client, source.id, { order: 'asc' })).slice(-2), ['only there', 'Hi.'])
  const request = fixture.requests.find(({ messages }) => JSON.stringify(messages.at(-1)).includes('only here'))!
  assert.equal(request.messages.length, 5)

  const short = await client.conversations.fork(source.id, { message_id: before[2].id, hidden: true })
  assert.deepEqual((await listed(client, short.id, { order: 'asc' })).slice(1), before.slice(1, 3))
  const twice = await client.conversations.fork(short.id)
  assert.deepEqual((await listed(client, twice.id, { order: 'asc' })).slice(1), before.slice(1, 3))
  // A cursor works in the original and in each of its forks.
  for (const id of [source.id, fork.id, twice.id])
    assert.deepEqual(await listed(client, id, { order: 'asc', after: before[1].id, limit: 1 }), [before[2]])
  assert.equal((await client.runs.messages.list(before[1].run_id)).getPaginatedItems().length, 2)
  await client.conversations.delete(source.id)
  assert.deepEqual((await listed(client, twice.id, { order: 'asc' })).slice(1), before.slice(1, 3))
  assert.deepEqual(await client.messages.retrieve(before[1].id), [before[1]])
  await client.agents.messages.create(agent.id, hello('at home'))
  const ofDefault = await client.conversations.fork('default', { agent_id: agent.id })
  assert.deepEqual(contentsOf(await listed(client, ofDefault.id, { order: 'asc' })), ['at home', 'Hi.'])
  assert.deepEqual((await checkStore(fixture.context)).violations, [])
})

test('a fork of a conversation in the middle of a step has no calls without results', async (context) => {
  const { client, agent, wait, began, fixture } = await serveBusy(context)
  const { id } = await client.conversations.create({ agent_id: agent.id })
  await readStream(await client.conversations.messages.create(id, hello('First')))
  const going = client.conversations.messages.create(id, hello('Hold')).then(readStream)
  await began.promise
  const fork = await client.conversations.fork(id)
  assert.deepEqual(contentsOf(await listed(client, fork.id, { order: 'asc' })), ['First', 'Hi.', 'Hold'])
  wait.open()
  assert.equal((await going).stopReason, 'end_turn')
  await readStream(await client.conversations.messages.create(fork.id, hello('Go on')))
  const calling = (await listed(client, id, { order: 'asc' })).find((one) => one.message_type === 'tool_call_message')
  const whole = await client.conversations.fork(id, { message_id: calling.id })
  assert.deepEqual(typesIn(await listed(client, whole.id)).slice(0, 2), ['tool_return_message', 'tool_call_message'])
  assert.deepEqual((await checkStore(fixture.context)).violations, [])
})

test('a send to a busy conversation gets 409 with the run id and no retry; other conversations accept messages', async (context) => {
  const { client, agent, wait, began, fetch } = await serveBusy(context)
  const { id } = await client.conversations.create({ agent_id: agent.id })
  const otid = randomUUID()
  const body = { messages: [{ role: 'user', content: 'Hold', otid }], background: true }
  const first = client.conversations.messages.create(id, body as never).then(readStream)
  await began.promise
  const [run] = (await client.runs.list({ conversation_id: id })).getPaginatedItems()

  for (const more of [{}, { streaming: false }, { background: true, stream_tokens: true }]) {
    const busy = await refused(client.conversations.messages.create(id, hello('Me too', more)))
    assert.equal(busy.status, 409)
    assert.equal(busy.error.run_id, run!.id)
    assert.match(busy.error.detail, /another request is currently being processed/)
    assert.equal(busy.headers.get('x-should-retry'), 'false')
  }
  const compact = await refused(client.conversations.messages.compact(id))
  assert.deepEqual([compact.status, compact.error.run_id], [409, run!.id])
  // The same otid is the same request.
  const again = client.conversations.messages.create(id, body as never).then(readStream)
  const byOtid = client.conversations.messages.stream(id, { otid }).then(readStream)
  const active = client.conversations.messages.stream(id).then(readStream)
  const after = await client.conversations.create({ agent_id: agent.id })
  assert.equal((await readStream(await client.conversations.messages.create(after.id, hello()))).stopReason, 'end_turn')
  wait.open()
  const replies = await Promise.all([first, again, byOtid, active])
  for (const reply of replies) assert.deepEqual([reply.runId, reply.stopReason], [run!.id, 'end_turn'])
  assert.equal((await readStream(await client.conversations.messages.stream(id, { otid }))).runId, run!.id)
  const over = await refused(client.conversations.messages.stream(id))
  assert.equal(over.status, 400)
  assert.match(over.error.detail, /No active runs found/)
  assert.equal((await refused(client.conversations.messages.stream(id, { otid: 'nobody' }))).status, 404)
  assert.equal((await readStream(await client.conversations.messages.create(id, hello()))).stopReason, 'end_turn')

  const whole = await fetch('POST', `/v1/conversations/${id}/messages`, { ...(hello() as object), streaming: false })
  const { messages, stop_reason } = whole.body as WireValue
  assert.deepEqual([whole.status, typesIn(messages), stop_reason.stop_reason], [200, ['assistant_message'], 'end_turn'])
})

test('a run can be cancelled through its conversation, and deleting a conversation leaves nothing running', async (context) => {
  const { client, agent, began, fixture } = await serveBusy(context)
  const { id } = await client.conversations.create({ agent_id: agent.id })
  assert.equal(await statusOf(client.conversations.cancel(id)), 409)
  const first = client.conversations.messages.create(id, hello('Hold')).then(readStream)
  await began.promise
  const cancelled = await client.conversations.cancel(id)
  assert.deepEqual(Object.values(cancelled), ['cancelled'])
  assert.equal((await first).stopReason, 'cancelled')

  const other = await client.conversations.create({ agent_id: agent.id })
  const second = client.conversations.messages.create(other.id, hello('Hold')).then(readStream)
  while ((await client.runs.list({ conversation_id: other.id })).getPaginatedItems().length === 0) await first
  await client.conversations.delete(other.id)
  assert.equal((await second).stopReason, 'cancelled')
  assert.equal(await statusOf(client.conversations.retrieve(other.id)), 404)
  const runs = (await client.runs.list({ agent_id: agent.id })).getPaginatedItems()
  assert.deepEqual([...new Set(runs.map(({ status }) => status))], ['cancelled'])
  assert.deepEqual((await checkStore(fixture.context)).violations, [])
})

test('a conversation with a pending approval shows it in its messages and refuses other messages until it is answered', async (context) => {
  const guarded = tool('send', () => success('sent'), { needsApproval: true })
  const { client } = await serveFixture(context, {
    tools: [guarded],
    script: [{ calls: [{ tool: 'send', input: {} }] }, { text: 'Sent.' }],
  })
  const agent = await client.agents.create({ model: MODEL, tools: ['send'], include_base_tools: false })
  const { id } = await client.conversations.create({ agent_id: agent.id })
  const requested = await readStream(await client.conversations.messages.create(id, hello()))
  const request = requested.messages.at(-1)
  assert.equal(request.message_type, 'approval_request_message')
  const waiting = await client.conversations.retrieve(id)
  assert.equal(waiting.in_context_message_ids?.at(-1), request.id)

  const busy = await refused(client.conversations.messages.create(id, hello('And?')))
  assert.equal(busy.status, 409)
  assert.equal(busy.headers.get('x-should-retry'), 'false')
  assert.deepEqual([busy.error.detail.code, busy.error.detail.pending_request_id], ['PENDING_APPROVAL', request.id])
  assert.deepEqual(busy.error.detail.tool_call_ids, [request.tool_call.tool_call_id])
  assert.equal((await refused(client.conversations.messages.compact(id))).status, 409)
  const fork = await client.conversations.fork(id)
  assert.deepEqual(contentsOf(await listed(client, fork.id)), ['Hello'])

  const approvals = [{ type: 'approval', tool_call_id: request.tool_call.tool_call_id, approve: true }]
  const reply = await readStream(
    await client.conversations.messages.create(id, { messages: [{ type: 'approval', approvals }] } as never),
  )
  assert.deepEqual(typesIn(reply.messages), ['tool_return_message', 'assistant_message'])

  // The same on the default conversation, where the agent shows it, too.
  await client.conversations.messages.create('default', hello('x', { agent_id: agent.id })).then(readStream)
  const include = { include: ['agent.pending_approval'] as never }
  const state = (await client.agents.retrieve(agent.id, include)) as WireValue
  assert.equal(state.message_ids.at(-1), state.pending_approval.id)
  assert.equal(state.last_stop_reason, 'requires_approval')
  assert.deepEqual(Object.values(await client.conversations.cancel('default', { agent_id: agent.id })), ['cancelled'])
  assert.equal(((await client.agents.retrieve(agent.id, include)) as WireValue).pending_approval, null)
})

test('`default` with an agent, and the id of an agent, mean the default conversation', async (context) => {
  const { client } = await serveFixture(context, {
    script: (request) => [{ text: JSON.stringify(request.messages).includes('Summar') ? 'A summary.' : 'Hi.' }],
  })
  const agent = await client.agents.create({ model: MODEL, memory_blocks: [{ label: 'human', value: 'old' }] })
  const named = { agent_id: agent.id }
  for (let turn = 0; turn < 4; turn++)
    await readStream(await client.conversations.messages.create('default', hello('long '.repeat(300), named)))
  await readStream(await client.conversations.messages.create(agent.id, hello('by id')))
  const byDefault = await listed(client, 'default', named)
  assert.deepEqual(await listed(client, agent.id), byDefault)
  assert.deepEqual((await client.agents.messages.list(agent.id)).getPaginatedItems(), byDefault.toReversed())
  assert.deepEqual(await client.conversations.list(named), [])
  assert.equal((await client.conversations.retrieve(agent.id)).id, 'default')
  assert.equal(await statusOf(client.conversations.cancel('default', named)), 409)
  assert.equal((await refused(client.conversations.messages.stream('default', named))).status, 400)

  const system = async () => (await listed(client, 'default', { ...named, order: 'asc', limit: 1 }))[0].content
  const before = await system()
  await client.agents.blocks.update('human', { ...named, value: 'new' })
  assert.equal(await system(), before)
  assert.match(await client.conversations.recompile('default', { ...named, dry_run: true }), /new/)
  assert.equal(await system(), before)
  const after = await client.conversations.recompile(agent.id)
  assert.match(after, /new/)
  assert.equal(await system(), after)

  const shrunk = await client.conversations.messages.compact('default', {
    ...named,
    compaction_settings: { mode: 'all', model: 'letta/auto' },
  })
  assert.ok(shrunk.summary.length > 0)
  assert.ok(shrunk.num_messages_after < shrunk.num_messages_before)
})

test('a conversation can have its own model', async (context) => {
  const one = queueModel([says('I am one.')])
  const two = queueModel([says('I am two.')])
  const { client, fetch } = await serveFixture(context, { providers: () => ({ one, two }) })
  const agent = await client.agents.create({ model: 'one/model' })
  const { id } = await client.conversations.create({ agent_id: agent.id, model: 'two/model' })
  const reply = await readStream(await client.conversations.messages.create(id, hello()))
  assert.equal(reply.messages.at(-1).content, 'I am two.')
  await client.conversations.update(id, { model: null })
  const next = await readStream(await client.conversations.messages.create(id, hello()))
  assert.equal(next.messages.at(-1).content, 'I am one.')
  // This holds for the default conversation, too, on every route.
  const patched = await fetch('PATCH', `/v1/conversations/default?agent_id=${agent.id}`, { model: 'two/model' })
  assert.equal((patched.body as WireValue).model, 'two/model')
  const { messages } = (await client.agents.messages.create(agent.id, hello())) as WireValue
  assert.equal(messages.at(-1).content, 'I am two.')
})
