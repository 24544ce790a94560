import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { calls, queueModel, says } from '../harness/queue-model.ts'
import { serveFixture, statusOf } from './fixture-resource-server.ts'

const MODEL = 'test/model'

test('a block that two agents share is edited once and seen by both', async (context) => {
  const { client, fixture } = await serveFixture(context)
  const shared = await client.blocks.create({
    label: 'shared',
    value: 'old',
    read_only: true,
    tags: ['t'],
    metadata: { a: [1] },
  })
  assert.deepEqual([shared.limit, shared.read_only, shared.hidden], [100_000, true, null])
  const one = await client.agents.create({ model: MODEL, block_ids: [shared.id] })
  const two = await client.agents.create({ model: MODEL })
  assert.deepEqual((await client.agents.blocks.attach(shared.id, { agent_id: two.id })).blocks.length, 1)
  await client.blocks.update(shared.id, { value: 'new' })
  for (const agent of [one, two])
    assert.equal((await client.agents.blocks.retrieve('shared', { agent_id: agent.id })).value, 'new')
  const having = (await client.blocks.agents.list(shared.id)).getPaginatedItems()
  assert.deepEqual(
    having.map(({ id }) => id),
    [two.id, one.id],
  )
  await client.agents.blocks.update('shared', { agent_id: one.id, value: 'newer', label: 'renamed' })
  assert.equal((await client.agents.blocks.retrieve('renamed', { agent_id: two.id })).value, 'newer')
  await client.agents.blocks.detach(shared.id, { agent_id: two.id })
  assert.deepEqual((await client.agents.blocks.list(two.id)).getPaginatedItems(), [])
  assert.equal(await statusOf(client.agents.blocks.detach(shared.id, { agent_id: two.id })), 404)
  await client.blocks.delete(shared.id)
  assert.equal(await statusOf(client.blocks.retrieve(shared.id)), 404)
  assert.deepEqual((await client.agents.blocks.list(one.id)).getPaginatedItems(), [])
  assert.deepEqual(fixture.faults, [])
})

test('blocks are listed by label, keep their order on an agent, and keep to their limits', async (context) => {
  const { client, fetch, fixture } = await serveFixture(context)
  const labels = Array.from({ length: 12 }, (_, index) => `label_${(index * 7) % 12}`)
  const agent = await client.agents.create({
    model: MODEL,
    memory_blocks: labels.map((label) => ({ label, value: label })),
  })
  const kept = (await client.agents.blocks.list(agent.id)).getPaginatedItems()
  assert.deepEqual(
    kept.map(({ label }) => label),
    labels,
  )
  const listed = (await client.blocks.list({ label: 'label_3' })).getPaginatedItems()
  assert.deepEqual(
    listed.map(({ value }) => value),
    ['label_3'],
  )
  const all: unknown[] = []
  for await (const block of client.blocks.list({ limit: 5 })) all.push(block.label)
  assert.deepEqual(all, [...labels].reverse())

  const long = { label: 'x', value: 'a'.repeat(23), limit: 10 }
  assert.equal(await statusOf(client.blocks.create(long)), 422)
  const id = kept[0]!.id
  assert.equal(await statusOf(client.blocks.update(id, { limit: 3 })), 422)
  assert.equal((await client.blocks.retrieve(id)).limit, 100_000)
  assert.equal(await statusOf(client.agents.blocks.update(labels[0]!, { agent_id: agent.id, label: labels[1]! })), 409)
  const twin = await client.blocks.create({ label: labels[0]!, value: '' })
  assert.equal(await statusOf(client.agents.blocks.attach(twin.id, { agent_id: agent.id })), 409)
  assert.equal(await statusOf(client.blocks.create({ label: 'x' } as never)), 422)
  assert.equal(await statusOf(client.blocks.create({ label: 5, value: 'x' } as never)), 422)
  assert.equal((await fetch('GET', `/v1/blocks/${agent.id}`)).status, 422)
  assert.equal((await fetch('GET', `/v1/blocks/block-${randomUUID()}`)).status, 404)
  assert.equal((await fetch('PATCH', `/v1/blocks/${id}`, '{"value": ')).status, 422)
  assert.equal((await client.blocks.create({ label: 'nul', value: 'a\0b' })).value, 'ab')
  assert.deepEqual(fixture.faults, [])
})

test('a memory tool edits a block over the wire and refuses a read-only one', async (context) => {
  const edit = (label: string) => calls('memory_insert', JSON.stringify({ label, new_string: 'added' }))
  const model = queueModel([edit('open'), edit('locked'), says('Done.')])
  const { client } = await serveFixture(context, { providers: () => ({ test: model }) })
  const agent = await client.agents.create({
    model: MODEL,
    memory_blocks: [
      { label: 'open', value: 'was' },
      { label: 'locked', value: 'stays', read_only: true },
    ],
  })
  await client.agents.messages.create(agent.id, { messages: [{ role: 'user', content: 'go' }] })
  const value = async (label: string) => (await client.agents.blocks.retrieve(label, { agent_id: agent.id })).value
  assert.deepEqual([await value('open'), await value('locked')], ['was\nadded', 'stays'])
  const systems = new Set(model.requests.map(({ system }) => system))
  assert.equal(systems.size, 1)
})

const SOURCE =
  'def helper():\n    pass\n\ndef weather(city: str):\n    """Tells the weather.\n\n    Args:\n        city (str): Where.\n    """\n    return 1\n'

test('a tool is read from its source, replaced by name, attached, detached and deleted', async (context) => {
  const model = queueModel([calls('weather', '{"city":"Bergen"}'), says('I cannot tell.')])
  const { client, fetch, fixture } = await serveFixture(context, { providers: () => ({ test: model }) })
  const made = await client.tools.create({ source_code: SOURCE, tags: ['t'] })
  assert.deepEqual([made.name, made.description, made.tool_type], ['weather', 'Tells the weather.', 'custom'])
  assert.deepEqual((made.json_schema as { parameters: { required: string[] } }).parameters.required, ['city'])
  assert.equal(await statusOf(client.tools.create({ source_code: SOURCE })), 409)
  assert.equal(await statusOf(client.tools.create({ source_code: 'x = 1' })), 400)
  const upserted = await client.tools.upsert({
    source_code: SOURCE.replace('Tells', 'Says'),
    default_requires_approval: false,
  })
  assert.deepEqual([upserted.id, upserted.description], [made.id, 'Says the weather.'])
  assert.equal(await statusOf(client.tools.create({ source_code: 'def memory_insert(a: str):\n    pass' })), 409)

  const agent = await client.agents.create({ model: MODEL, tool_ids: [made.id], include_base_tools: false })
  assert.deepEqual(
    agent.tools.map(({ name }) => name),
    ['weather'],
  )
  await client.agents.messages.create(agent.id, { messages: [{ role: 'user', content: 'weather?' }] })
  assert.ok(model.requests[0]!.tools.some(({ name }) => name === 'weather'))
  const result = model.requests[1]!.messages.at(-1)
  assert.match(JSON.stringify(result), /This test runs no sources/)

  const [builtin] = (await client.tools.list({ name: 'memory_insert' })).getPaginatedItems()
  assert.equal(builtin?.tool_type, 'letta_memory_core')
  assert.equal((await client.tools.retrieve(builtin!.id)).name, 'memory_insert')
  for (let time = 0; time < 2; time++)
    assert.equal(await client.agents.tools.attach(builtin!.id, { agent_id: agent.id }), null)
  const names = async () => (await client.agents.tools.list(agent.id)).getPaginatedItems().map(({ name }) => name)
  assert.deepEqual(await names(), ['weather', 'memory_insert'])
  await client.agents.tools.detach(builtin!.id, { agent_id: agent.id })
  const renamed = await client.tools.update(made.id, { source_code: SOURCE.replace('def weather', 'def climate') })
  assert.equal(renamed.name, 'climate')
  assert.deepEqual(await names(), ['climate'])
  await client.tools.delete(made.id)
  assert.deepEqual(await names(), [])
  assert.equal(await statusOf(client.tools.retrieve(made.id)), 404)
  assert.equal(await statusOf(client.tools.delete(builtin!.id)), 400)
  assert.equal((await fetch('GET', `/v1/tools/${agent.id}`)).status, 422)
  const all: unknown[] = []
  for await (const tool of client.tools.list({ limit: 2 })) all.push(tool.id)
  assert.equal(new Set(all).size, all.length)
  assert.ok(all.length >= 6)
  assert.deepEqual(fixture.faults, [])
})

test('passages are inserted, listed, found by words and tags, and deleted', async (context) => {
  const { client, fetch, fixture } = await serveFixture(context)
  const agent = await client.agents.create({ model: MODEL })
  const [first] = await client.agents.passages.create(agent.id, {
    text: 'The harbor of Bergen',
    tags: ['trip', 'norway'],
  })
  await client.agents.passages.create(agent.id, { text: 'A recipe for soup', created_at: '2020-01-02T03:04:05Z' })
  assert.equal(first!.text, 'The harbor of Bergen')
  const search = (query: object) => client.agents.passages.search(agent.id, { query: '', ...query })
  assert.deepEqual((await search({ query: 'harbor soup' })).count, 2)
  const found = await search({ query: 'bergen', tags: ['trip'], tag_match_mode: 'all' })
  assert.deepEqual(
    [found.count, found.results[0]!.content, found.results[0]!.tags],
    [1, first!.text, ['trip', 'norway']],
  )
  assert.equal((await search({ query: 'soup', end_datetime: '2019-01-01' })).count, 0)
  assert.equal((await client.agents.passages.list(agent.id)).length, 2)
  assert.equal(
    (await client.agents.passages.list(agent.id, { search: 'SOUP' }))[0]!.created_at,
    '2020-01-02T03:04:05+00:00',
  )
  await client.agents.passages.delete(first!.id!, { agent_id: agent.id })
  assert.equal((await search({ query: 'harbor' })).count, 0)
  assert.equal(await statusOf(client.agents.passages.delete(first!.id!, { agent_id: agent.id })), 404)
  assert.equal(await statusOf(client.agents.passages.create(agent.id, { text: '' })), 422)
  assert.equal(await statusOf(client.agents.passages.create(agent.id, { text: 'x', created_at: 'noon' })), 422)
  assert.equal((await fetch('GET', `/v1/agents/${agent.id}/archival-memory/search?query=x&top_k=0`)).status, 422)
  assert.deepEqual(fixture.faults, [])
})
