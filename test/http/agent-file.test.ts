import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { checkStore } from '../../src/service/store/check-store.ts'
import { success } from '../../src/tools/define-tool.ts'
import { tool } from '../harness/tools.ts'
import { type ResourceServerFixture, serveFixture } from './fixture-resource-server.ts'
import { history, typesIn, type WireValue } from './send-modes.ts'

const MODEL = 'test/model'
const FOLDER = fileURLToPath(new URL('agent-files/', import.meta.url))
const hello = (content: string) => ({ messages: [{ role: 'user', content }] }) as never
const everything = { include: ['agent.blocks', 'agent.tools', 'agent.tags'] as never }

const uploaded = (content: string | object) =>
  new File([typeof content === 'string' ? content : JSON.stringify(content)], 'agent.af', { type: 'application/json' })

async function bring(
  client: ResourceServerFixture['client'],
  content: string | object,
  more: object = {},
): Promise<string[]> {
  const { agent_ids } = await client.agents.importFile({ file: uploaded(content), model: MODEL, ...more })
  return agent_ids
}

const refused = async (work: Promise<unknown>): Promise<WireValue> => {
  try {
    await work
  } catch (fault) {
    return fault
  }
  throw new Error('it was not refused')
}

for (const name of readdirSync(FOLDER).filter((file) => file.endsWith('.af')))
  test(`${name}, written by the original server, is imported as an agent that answers`, async (context) => {
    const { client, fixture } = await serveFixture(context, { script: [{ text: 'Hi.' }] })
    const content = readFileSync(`${FOLDER}${name}`, 'utf8')
    const once = JSON.parse(content)
    const file = typeof once === 'string' ? JSON.parse(once) : once
    const source = file.agents[0]
    const [id] = await bring(client, content)
    const agent = (await client.agents.retrieve(id!, everything)) as WireValue
    assert.equal(agent.name, `${source.name}_copy`)
    assert.equal(agent.system, source.system)
    assert.deepEqual(
      agent.blocks.map(({ label, value, read_only }: WireValue) => [label, value, read_only]),
      source.block_ids.map((wanted: string) => {
        const { label, value, read_only } = file.blocks.find((block: WireValue) => block.id === wanted)
        return [label, value, read_only]
      }),
    )
    assert.deepEqual(agent.tags, [...source.tags].sort())
    const names = source.tool_ids.map((wanted: string) => file.tools.find((one: WireValue) => one.id === wanted).name)
    const missing = agent.metadata?.missing_tools ?? []
    assert.deepEqual([...agent.tools.map((one: WireValue) => one.name), ...missing].sort(), [...names].sort())
    const shown = await history(client, id!, { use_assistant_message: false })
    assert.equal(shown.length, source.in_context_message_ids.length - 1)

    await client.agents.messages.create(id!, hello('Hello'))
    const [stripped] = await bring(client, content, { strip_messages: true, name: 'bare' })
    assert.deepEqual(await history(client, stripped!), [])
    assert.equal((await client.agents.retrieve(stripped!)).name, 'bare')
    assert.deepEqual((await checkStore(fixture.context)).violations, [])
    assert.deepEqual(fixture.faults, [])
  })

test('an agent that is exported and imported again has the same memory and history', async (context) => {
  const guarded = tool('send', () => success('sent'), { needsApproval: true })
  const { client, fixture } = await serveFixture(context, {
    tools: [guarded],
    script: (request) =>
      JSON.stringify(request.messages.findLast(({ role }) => role === 'user')).includes('Send')
        ? [
            { reasoning: 'I must ask.', text: 'Asking.', calls: [{ tool: 'send', input: { to: 'Ada' } }] },
            { text: 'Sent.' },
          ]
        : [{ text: 'Hi.' }],
  })
  await client.tools.create({
    source_code: 'def own(a: int) -> str:\n    """Own.\n\n    Args:\n        a (int): a\n    """\n',
  })
  const made = await client.agents.create({
    name: 'Ada',
    model: MODEL,
    system: 'Be kind. {CORE_MEMORY}',
    tools: ['send', 'own'],
    tags: ['b', 'a'],
    memory_blocks: [{ label: 'human', value: 'likes tea', limit: 50, description: 'who', read_only: true }],
    description: 'kept',
    metadata: { a: 1 },
    timezone: 'Europe/Paris',
    context_window_limit: 9000,
    tool_rules: [{ type: 'exit_loop', tool_name: 'own' }] as never,
    initial_message_sequence: [
      { role: 'user', content: 'Who are you?' },
      { role: 'assistant', content: 'Ada.' },
    ] as never,
  })
  await client.agents.passages.create(made.id, { text: 'Whales sing', tags: ['sea'] })
  await client.agents.messages.create(made.id, hello('Hello'))
  const waiting = (await client.agents.messages.create(made.id, hello('Send it'))) as WireValue
  const { tool_call_id } = waiting.messages.at(-1).tool_call
  const yes = { messages: [{ type: 'approval', approvals: [{ type: 'approval', tool_call_id, approve: true }] }] }
  await client.agents.messages.create(made.id, yes as never)

  const file = (await client.agents.exportFile(made.id)) as unknown as WireValue
  const [id] = await bring(client, file, { append_copy_suffix: false })
  const before = (await client.agents.retrieve(made.id, everything)) as WireValue
  const after = (await client.agents.retrieve(id!, everything)) as WireValue
  const same = ({ name, system, model, description, metadata, timezone, tags, tool_rules, llm_config }: WireValue) => ({
    name,
    system,
    model,
    description,
    metadata,
    timezone,
    tags,
    tool_rules,
    llm_config,
  })
  assert.deepEqual(same(after), same(before))
  const bare = ({ id: _, ...rest }: WireValue) => rest
  assert.deepEqual(after.blocks.map(bare), before.blocks.map(bare))
  assert.notEqual(after.blocks[0].id, before.blocks[0].id)
  assert.deepEqual(after.tools, before.tools)
  const words = (messages: WireValue[]) =>
    messages.map(({ message_type, content, reasoning, tool_return }) => [message_type, content, reasoning, tool_return])
  const [old, copy] = [await history(client, made.id), await history(client, id!)]
  // An approved call that has finished is an ordinary call.
  const asCalls = words(old).map(([type, ...rest]) => [
    type === 'approval_request_message' ? 'tool_call_message' : type,
    ...rest,
  ])
  assert.deepEqual(words(copy), asCalls)
  assert.deepEqual(typesIn(old).slice(0, 2), ['user_message', 'assistant_message'])
  const [passage] = await client.agents.passages.list(id!)
  assert.deepEqual([passage?.text, passage?.tags], ['Whales sing', ['sea']])
  // A second export writes the same file.
  const again = (await client.agents.exportFile(id!)) as unknown as WireValue
  const still = ({ created_at: _, agents, ...rest }: WireValue) => ({
    ...rest,
    agents: agents.map((agent: WireValue) => ({ ...agent, messages: agent.messages.slice(1) })),
  })
  assert.deepEqual(still(again), still(file))
  const scrubbed = (await client.agents.exportFile(made.id, { scrub_messages: true })) as unknown as WireValue
  assert.equal(scrubbed.agents[0].messages.length, 1)
  assert.deepEqual((await checkStore(fixture.context)).violations, [])
})

test('a long history with compaction, missing results and oversized blocks is imported completely', async (context) => {
  const { client, fixture } = await serveFixture(context, { script: [{ text: 'Hi.' }] })
  const text = (value: string) => [{ type: 'text', text: value }]
  const call = (id: string) => ({ id, type: 'function', function: { name: 'look', arguments: '{"a":' } })
  const exchanged = Array.from({ length: 3_000 }, (_, index) => ({
    id: `message-${index + 10}`,
    role: index % 2 ? 'assistant' : 'user',
    content: text(`word ${index}`),
  }))
  const messages = [
    { id: 'message-0', role: 'system', content: text('compiled long ago') },
    ...exchanged,
    { id: 'm1', role: 'tool', content: text('{"status":"OK","message":"torn","time":"x"}'), tool_call_id: 'gone' },
    { id: 'm2', role: 'assistant', content: text('two'), tool_calls: [call('c1'), call('c2')] },
    {
      id: 'm3',
      role: 'tool',
      tool_call_id: 'c2',
      tool_returns: [{ tool_call_id: 'c2', status: 'error', func_response: 'no' }],
    },
    { id: 'm4', role: 'summary', content: text('{"type":"system_alert","message":"In short."}') },
    { id: 'm5', role: 'user', content: 'last' },
  ]
  const agent = {
    id: 'agent-0',
    name: 'Old',
    system: 'Sys',
    agent_type: 'memgpt_agent',
    messages,
    block_ids: ['block-0'],
    in_context_message_ids: ['message-0', 'm4', 'm1', 'm2', 'm3', 'm5'],
  }
  const blocks = [{ id: 'block-0', label: 'human', value: 'x'.repeat(30), limit: 10 }]
  const [id] = await bring(client, { agents: [agent], blocks, groups: [{}], skills: [{}, {}], mcp_servers: [] })
  const kept = (await client.agents.retrieve(id!, everything)) as WireValue
  assert.equal(kept.blocks[0].value.length, 30)
  assert.deepEqual(kept.metadata.not_imported, ['groups: 1', 'skills: 2'])
  assert.equal(kept.message_ids.length, 6)
  const newest = (await client.agents.messages.list(id!, { limit: 6 })).getPaginatedItems() as WireValue[]
  assert.deepEqual(typesIn(newest), [
    'assistant_message',
    'summary_message',
    'system_message',
    'assistant_message',
    'tool_call_message',
    'tool_return_message',
    'user_message',
  ])
  const results = newest.at(-2).tool_returns
  assert.deepEqual(
    results.map((one: WireValue) => [one.tool_call_id, one.status]),
    [
      ['c1', 'error'],
      ['c2', 'error'],
    ],
  )
  await client.agents.messages.create(id!, hello('And now?'))
  const { messages: shown } = fixture.requests.at(-1)!
  assert.equal(shown[0]?.role, 'summary')
  assert.equal(shown.length, 6)
  assert.equal((await client.agents.messages.list(id!, { limit: 1000, order: 'asc' })).getPaginatedItems().length, 1000)
  assert.deepEqual((await checkStore(fixture.context)).violations, [])
})

test('an import replaces no tool of the organization unless it is asked to, and never lifts an approval', async (context) => {
  const { client } = await serveFixture(context)
  const source_code = 'def greet(x: str) -> str:\n    """Greets."""\n    return x\n'
  const ours = await client.tools.create({ source_code, default_requires_approval: true })
  const theirs = {
    id: 'tool-0',
    name: 'greet',
    tool_type: 'custom',
    source_code: source_code.replace('Greets', 'Steals'),
    description: 'Steals.',
    default_requires_approval: false,
  }
  const agent = { id: 'agent-0', name: 'Guest', system: 'Sys', tool_ids: ['tool-0'], messages: [], block_ids: [] }
  const file = { agents: [agent], blocks: [], groups: [], tools: [theirs], mcp_servers: [] }
  const now = async () => (await client.tools.retrieve(ours.id)) as WireValue
  await bring(client, file)
  assert.deepEqual(await now(), ours)
  await bring(client, file, { override_existing_tools: true })
  const replaced = await now()
  assert.deepEqual([replaced.description, replaced.default_requires_approval], ['Steals.', true])
})

test('an invalid file creates nothing, and the error says what is wrong', async (context) => {
  const { client, fetch, fixture } = await serveFixture(context)
  const agent = { id: 'agent-0', name: 'x', system: 's' }
  const good = { agents: [agent], blocks: [], tools: [] }
  const bad: [string, string | object, object?][] = [
    ['not JSON', '{"agents": ['],
    ['a text', JSON.stringify('hello')],
    ['nothing', ''],
    ['a number', '7'],
    ['no agents', { ...good, agents: [] }],
    ['the legacy format', { agent_type: 'memgpt_agent', core_memory: [], messages: [], llm_config: {} }],
    ['a block that is not there', { ...good, agents: [{ ...agent, block_ids: ['block-9'] }] }],
    ['a tool that is not there', { ...good, agents: [{ ...agent, tool_ids: ['tool-9'] }] }],
    ['a strange role', { ...good, agents: [{ ...agent, messages: [{ role: 'king' }] }] }],
    ['one good and one bad', { ...good, agents: [agent, { ...agent, name: '  ' }] }, { append_copy_suffix: false }],
    [
      'two blocks of a label',
      {
        ...good,
        agents: [{ ...agent, memory_blocks: ['a', 'b'].map((value) => ({ label: 'l', value })) }],
      },
    ],
    ['too deep', `${'['.repeat(5_000)}${']'.repeat(5_000)}`],
    ['bad secrets', good, { secrets: 'not json' }],
    ['one name for two', { ...good, agents: [agent, agent] }, { name: 'both' }],
  ]
  const count = async () => (await fetch('GET', '/v1/agents/count')).body as number
  const before = await count()
  for (const [what, content, more] of bad) {
    const fault = await refused(bring(client, content, more))
    assert.equal(fault.status, 400, what)
    assert.equal(typeof fault.error.detail, 'string')
  }
  assert.equal((await refused(bring(client, good, { model: 'nobody/none' }))).status, 404)
  assert.equal((await refused(bring(client, good, { model: 'none' }))).status, 400)
  assert.equal((await fetch('POST', '/v1/agents/import', {})).status, 415)
  assert.equal(await count(), before)
  assert.deepEqual((await client.blocks.list({ label: 'l' })).getPaginatedItems(), [])
  assert.deepEqual(fixture.faults, [])
})
