import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { calls, queueModel, says } from '../harness/queue-model.ts'
import { tool } from '../harness/tools.ts'
import { serveFixture, statusOf } from './fixture-resource-server.ts'

const MODEL = 'test/model'

test('an agent is created, read with the requested parts, updated and deleted', async (context) => {
  const { client, fixture } = await serveFixture(context)
  const made = await client.agents.create({
    name: 'ada',
    model: MODEL,
    system: 'You are Ada.',
    description: 'a test',
    timezone: 'Europe/Oslo',
    memory_blocks: [
      { label: 'human', value: 'Name: Bo.' },
      { label: 'persona', value: 'Kind.', description: 'who I am', limit: 50 },
    ],
    tags: ['b', 'a'],
    metadata: { x: 1 },
    tools: ['memory_rethink', 'run_code'],
    model_settings: { provider_type: 'openai', temperature: 0.5 },
    compaction_settings: { model: 'letta/auto', mode: 'all' },
  })
  assert.deepEqual(
    made.blocks.map(({ label }) => label),
    ['human', 'persona'],
  )
  assert.equal(made.blocks[0]!.limit, 100_000)
  assert.deepEqual(made.tags, ['a', 'b'])
  assert.deepEqual(made.metadata, { x: 1, missing_tools: ['run_code'] })
  const names = made.tools.map(({ name }) => name)
  assert.ok(names.includes('memory_rethink') && names.includes('memory_insert') && !names.includes('run_code'))
  assert.equal(made.llm_config.handle, MODEL)
  assert.equal((made.model_settings as { temperature: number }).temperature, 0.5)
  assert.deepEqual([made.last_stop_reason, made.pending_approval, made.message_ids?.length], [null, null, 1])

  const bare = await client.agents.retrieve(made.id)
  assert.deepEqual([bare.blocks, bare.tools, bare.tags, bare.memory.blocks], [[], [], [], []])
  const partial = await client.agents.retrieve(made.id, { include: ['agent.blocks', 'agent.tags'] })
  assert.deepEqual([partial.blocks.length, partial.tools.length, partial.tags.length], [2, 0, 2])

  const changed = await client.agents.update(made.id, { system: 'You are Eve.' })
  assert.deepEqual([changed.system, changed.name, changed.description], ['You are Eve.', 'ada', 'a test'])
  await client.agents.update(made.id, { model: 'test/other', model_settings: { provider_type: 'openai' } })
  await client.agents.update(made.id, { compaction_settings: { model: 'letta/auto' }, tags: ['c'] })
  const again = await client.agents.retrieve(made.id, { include: ['agent.tags'] })
  assert.deepEqual([again.model, again.timezone, again.tags], ['test/other', 'Europe/Oslo', ['c']])

  assert.match(((await client.agents.delete(made.id)) as { message: string }).message, /successfully deleted/)
  assert.equal(await statusOf(client.agents.retrieve(made.id)), 404)
  // A block that was made with the agent goes with it; one that was made alone, or is shared, stays.
  assert.equal(await statusOf(client.blocks.retrieve(made.blocks[0]!.id!)), 404)
  assert.deepEqual(fixture.faults, [])
})

test('agents are listed newest first, by name and by any or all tags, and pagination ends', async (context) => {
  const { client, fetch } = await serveFixture(context)
  const ids: string[] = []
  for (const [name, tags] of [
    ['one', ['x']],
    ['two', ['x', 'y']],
    ['three', ['y']],
  ] as const)
    ids.unshift((await client.agents.create({ name, model: MODEL, tags: [...tags] })).id)
  const all: string[] = []
  for await (const agent of client.agents.list({ limit: 2 })) all.push(agent.id)
  assert.deepEqual(all.slice(0, 3), ids)
  assert.equal(all.length, 4, 'including the agent of the fixture')
  const named = async (query: object) => (await client.agents.list(query)).getPaginatedItems().map(({ name }) => name)
  assert.deepEqual(await named({ name: 'two' }), ['two'])
  assert.deepEqual(await named({ tags: ['x', 'y'] }), ['three', 'two', 'one'])
  assert.deepEqual(await named({ tags: ['x', 'y'], match_all_tags: true }), ['two'])
  assert.deepEqual(await named({ query_text: 'thr' }), ['three'])
  assert.deepEqual(await named({ order: 'asc', after: ids[1] }), ['three'])
  assert.deepEqual(await named({ order_by: 'updated_at', tags: ['x'] }), ['two', 'one'])
  assert.deepEqual(await client.tags.list(), ['x', 'y'])
  assert.deepEqual(await client.tags.list({ query_text: 'X' }), ['x'])
  assert.equal((await fetch('GET', '/v1/agents/count')).body, 4)
})

test('an invalid request for an agent is refused with a reason and creates nothing', async (context) => {
  const { client, fetch, fixture } = await serveFixture(context)
  const create = (body: object) => statusOf(client.agents.create({ model: MODEL, ...body } as never))
  assert.equal(await create({ model: 'nonsense' }), 400)
  assert.equal(await create({ model: 'nobody/model' }), 404)
  assert.equal(await create({ memory_blocks: [{ label: 'a', value: 'too long for it', limit: 3 }] }), 422)
  assert.equal(
    await create({
      memory_blocks: [
        { label: 'a', value: '' },
        { label: 'a', value: '' },
      ],
    }),
    409,
  )
  assert.equal(await create({ memory_blocks: 'none' }), 422)
  assert.equal(await create({ block_ids: [fixture.agent.id] }), 422)
  assert.equal(await create({ block_ids: [`block-${randomUUID()}`] }), 404)
  assert.equal(await create({ tool_ids: [`tool-${randomUUID()}`] }), 404)
  assert.equal(await create({ tags: [7] }), 422)
  assert.equal(await create({ some_field_of_tomorrow: { a: 1 } }), 200)
  assert.equal((await fetch('GET', '/v1/agents/count')).body, 2)
  assert.deepEqual((await client.blocks.list()).getPaginatedItems(), [])
  for (const [method, path] of [
    ['GET', `/v1/agents/${fixture.agent.id.replace('agent', 'block')}`],
    ['GET', '/v1/agents/nothing'],
    ['DELETE', '/v1/agents/agent-1'],
    ['GET', '/v1/agents/?limit=none'],
    ['GET', '/v1/agents?order=sideways'],
  ] as const)
    assert.equal((await fetch(method, path)).status, 422, path)
  assert.equal((await fetch('GET', `/v1/agents/?after=agent-${randomUUID()}`)).status, 404)
  assert.equal((await fetch('PATCH', `/v1/agents/agent-${randomUUID()}`, {})).status, 404)
  assert.equal((await fetch('PATCH', `/v1/agents/${fixture.agent.id}`, { name: 7 })).status, 422)
  assert.deepEqual(fixture.faults, [])
})

test('editing a block does not change the stored prompt; recompiling does, and a dry run does not', async (context) => {
  const model = queueModel([says('Hello.')])
  const { client, fixture } = await serveFixture(context, { providers: () => ({ test: model }) })
  const agent = await client.agents.create({ model: MODEL, memory_blocks: [{ label: 'human', value: 'Name: Bo.' }] })
  const ask = async () => {
    await client.agents.messages.create(agent.id, { messages: [{ role: 'user', content: 'hi' }] })
    return model.requests.at(-1)!.system
  }
  const first = await ask()
  assert.match(first, /Name: Bo\./)
  assert.match(first, new RegExp(`AGENT_ID: ${agent.id}`))
  await client.agents.blocks.update('human', { agent_id: agent.id, value: 'Name: Cy.' })
  assert.equal(await ask(), first)
  assert.match(await client.agents.recompile(agent.id, { dry_run: true }), /Name: Cy\./)
  assert.equal(await ask(), first)
  assert.match(await client.agents.recompile(agent.id), /Name: Cy\./)
  assert.match(await ask(), /Name: Cy\./)
  await client.agents.passages.create(agent.id, { text: 'a thing to find' })
  assert.match(await ask(), /1 total memories/)
  const seen = await client.agents.retrieve(agent.id)
  assert.deepEqual([seen.last_stop_reason, seen.message_ids?.length], ['end_turn', 11])
  assert.deepEqual(fixture.faults, [])
})

test('a tool that requires approval waits and is shown as pending, until approval is no longer required', async (context) => {
  const model = queueModel([calls('look', '{}'), says('Seen.'), calls('look', '{}'), says('Seen.')])
  const { client, fetch, fixture } = await serveFixture(context, {
    providers: () => ({ test: model }),
    tools: [tool('look', undefined, { effects: 'none' })],
  })
  const agent = await client.agents.create({ model: MODEL, tools: ['look'], include_base_tools: false })
  const approval = (isRequired: boolean) =>
    client.agents.tools.updateApproval('look', { agent_id: agent.id, body_requires_approval: isRequired })
  assert.equal(await approval(true), null)
  const rules = (await client.agents.retrieve(agent.id)).tool_rules ?? []
  assert.deepEqual(
    rules.map(({ type, tool_name }) => [type, tool_name]),
    [['requires_approval', 'look']],
  )
  const send = () => client.agents.messages.create(agent.id, { messages: [{ role: 'user', content: 'look' }] })
  assert.equal((await send()).stop_reason.stop_reason, 'requires_approval')
  const waiting = await client.agents.retrieve(agent.id, { include: ['agent.pending_approval'] })
  assert.equal(waiting.last_stop_reason, 'requires_approval')
  assert.equal(waiting.pending_approval?.message_type, 'approval_request_message')
  const context1 = await fetch('GET', `/v1/agents/${agent.id}/context`)
  assert.equal(context1.status, 200)
  const [call] = waiting.pending_approval!.tool_calls as { tool_call_id: string }[]
  const approve = { type: 'approval' as const, approve: true, tool_call_id: call!.tool_call_id }
  await client.agents.messages.create(agent.id, { messages: [{ type: 'approval', approvals: [approve] }] })
  const after = await client.agents.retrieve(agent.id, { include: ['agent.pending_approval'] })
  assert.deepEqual([after.pending_approval, after.last_stop_reason], [null, 'end_turn'])
  await approval(false)
  assert.equal((await send()).stop_reason.stop_reason, 'end_turn')
  const { body } = await fetch('GET', `/v1/agents/${agent.id}/context`)
  assert.ok((body as { num_messages: number }).num_messages > 6)
  assert.equal(await statusOf(client.agents.tools.updateApproval('none', { agent_id: agent.id } as never)), 422)
  assert.deepEqual(fixture.faults, [])
})

test('models are listed with their handles, without an embedding model', async (context) => {
  const { fetch } = await serveFixture(context)
  const { status, body } = await fetch('GET', '/v1/models/')
  assert.equal(status, 200)
  assert.ok((body as { handle: string }[]).some(({ handle }) => handle === 'scripted/friendly'))
  assert.deepEqual((await fetch('GET', '/v1/models/embedding')).body, [])
})

test('a model or system prompt for one request leaves the agent unchanged', async (context) => {
  const model = queueModel([says('Hello.')])
  const { client, fixture } = await serveFixture(context, { providers: () => ({ test: model }) })
  const agent = await client.agents.create({ model: MODEL, memory_blocks: [{ label: 'human', value: 'Bo' }] })
  const send = (more: object) =>
    client.agents.messages.create(agent.id, { messages: [{ role: 'user', content: 'hi' }], ...more } as never)
  await send({ override_model: 'test/other', override_system: 'Only for now.' })
  await send({})
  const [first, second] = model.requests
  assert.deepEqual([first!.model, first!.system], ['other', 'Only for now.'])
  assert.equal(second!.model, 'model')
  assert.match(second!.system, /<human>/)
  const after = await client.agents.retrieve(agent.id, { include: ['agent.blocks'] })
  assert.deepEqual([after.model, after.system], [MODEL, agent.system])
  assert.ok([400, 404].includes((await statusOf(send({ override_model: 'nobody/model' })))!))
  assert.deepEqual(fixture.faults, [])
})

test('unknown tool names are refused by name; built-in tools of the retired server are kept with a warning', async (context) => {
  const { client } = await serveFixture(context)
  const refusal = (work: Promise<unknown>) =>
    work.then(
      () => assert.fail('it was accepted'),
      ({ status, error }) => [status, error.detail],
    )
  const [status, detail] = await refusal(client.agents.create({ model: MODEL, tools: ['run_code', 'typo', 'a"b'] }))
  assert.equal(status, 400)
  assert.match(detail, /Tools not found by name: "typo", "a"b"\. .*GET \/v1\/tools/)
  const kept = ['run_code', 'run_code_with_tools']
  const { data: agent, response } = await client.agents
    .create({ model: MODEL, tools: [...kept, 'memory_rethink'] })
    .withResponse()
  assert.deepEqual(agent.metadata, { missing_tools: kept })
  assert.match(response.headers.get('x-holdfast-warnings') ?? '', /^tools: .* run_code, run_code_with_tools/)
  const update = (tools: string[]) => client.agents.update(agent.id, { tools } as never).withResponse()
  assert.deepEqual((await refusal(update(['memory_insert', 'typo'])))[0], 400)
  assert.ok((await client.agents.retrieve(agent.id, { include: ['agent.tools'] })).tools.length > 5)
  const changed = await update(['memory_insert', 'run_code'])
  assert.deepEqual(
    changed.data.tools.map(({ name }) => name),
    ['memory_insert'],
  )
  assert.deepEqual(changed.data.metadata, { missing_tools: ['run_code'] })
  assert.match(changed.response.headers.get('x-holdfast-warnings') ?? '', /run_code/)
  const plain = await update(['memory_insert'])
  assert.deepEqual([plain.data.metadata, plain.response.headers.get('x-holdfast-warnings')], [null, null])
})

test('a missing tool is listed on the agent, secrets are not, and invalid settings are refused', async (context) => {
  const { client } = await serveFixture(context)
  const agent = await client.agents.create({
    model: MODEL,
    secrets: { API_KEY: 'open-sesame' },
    tools: ['run_code_with_tools'],
  })
  assert.deepEqual(agent.metadata, { missing_tools: ['run_code_with_tools'] })
  assert.doesNotMatch(JSON.stringify(await client.agents.retrieve(agent.id)), /open-sesame/)
  for (const compaction_settings of [
    { threshold: 0 },
    { threshold: 1.5 },
    { threshold: 'half' },
    { mode: 'sideways' },
    { model: 'nonsense' },
    { sliding_window_percentage: 2 },
    'all',
  ])
    assert.equal(await statusOf(client.agents.update(agent.id, { compaction_settings } as never)), 422)
})

test('an agent that is deleted during a turn is gone, and its turn ends without an internal error', async (context) => {
  const started = Promise.withResolvers<void>()
  const wait = tool('wait', (_, { signal }) => {
    started.resolve()
    return new Promise((resolve) =>
      signal.addEventListener('abort', () => resolve({ status: 'error', output: 'stopped' })),
    )
  })
  const model = queueModel([calls('wait', '{}'), says('Never.')])
  const { client, fixture } = await serveFixture(context, { providers: () => ({ test: model }), tools: [wait] })
  const agent = await client.agents.create({ model: MODEL, tools: ['wait'], include_base_tools: false })
  const run = await client.agents.messages.createAsync(agent.id, { messages: [{ role: 'user', content: 'wait' }] })
  await started.promise
  await client.agents.delete(agent.id)
  assert.equal(await statusOf(client.runs.retrieve(run.id)), 404)
  assert.equal(await statusOf(client.agents.messages.list(agent.id).then((page) => page.getPaginatedItems())), 404)
  const [newest] = (await client.agents.list()).getPaginatedItems()
  assert.equal(newest?.id, fixture.agent.id)
  await fixture.ask('still here')
  assert.deepEqual(fixture.faults, [])
})

test('an agent that names no model has the default one', async (context) => {
  const { client } = await serveFixture(context)
  assert.equal((await client.agents.create({ name: 'plain' })).model, MODEL)
  assert.equal((await client.agents.create({ name: 'auto', model: 'letta/auto' })).model, MODEL)
})
