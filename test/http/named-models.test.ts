import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Body, serveDialects } from './fixture-dialects.ts'
import { serveFixture } from './fixture-resource-server.ts'
import { KEY } from './fixture-server-process.ts'

type Answer = { status: number; body: Body; warnings: string | null }

const serve = async (context: Parameters<typeof serveDialects>[0]) => {
  const served = await serveDialects(context)
  const agent = await served.client.agents.create({ model: 'chat/gpt-4o' })
  const conversation = await served.client.conversations.create({ agent_id: agent.id })
  /** The response with its header, which the client does not show for errors. */
  async function request(method: string, path: string, body: Body): Promise<Answer> {
    const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
    const response = await fetch(`${served.client.baseURL}${path}`, { method, headers, body: JSON.stringify(body) })
    const warnings = response.headers.get('x-holdfast-warnings')
    return { status: response.status, body: (await response.json()) as Body, warnings }
  }
  const agentPath = `/v1/agents/${agent.id}`
  return { ...served, agent, agentPath, conversationPath: `/v1/conversations/${conversation.id}`, request }
}

/** Every field that names a model, besides the model and the chain of an agent. */
const FIELDS = (handle: string, { agentPath, conversationPath }: Awaited<ReturnType<typeof serve>>) =>
  [
    ['POST', `${agentPath}/messages`, { input: 'Hello', override_model: handle }, 'override_model'],
    ['PATCH', conversationPath, { model: handle }, 'model'],
    ['PATCH', agentPath, { compaction_settings: { model: handle } }, 'compaction_settings.model'],
    ['PATCH', agentPath, { fallback: [handle] }, 'fallback.0'],
  ] as const

test('every field that names a model takes a handle of the retired server under its new name, and says so', async (context) => {
  const served = await serve(context)
  for (const [method, path, body, field] of FIELDS('google_ai/gemini-2.5-flash', served)) {
    const { status, warnings } = await served.request(method, path, body)
    assert.equal(status, 200, field)
    assert.equal(warnings, `${field}: google_ai/gemini-2.5-flash is gemini/gemini-2.5-flash here.`)
  }
  const { compaction_settings, fallback } = (await served.client.agents.retrieve(served.agent.id)) as unknown as Body
  assert.deepEqual(compaction_settings, { model: 'gemini/gemini-2.5-flash' })
  assert.deepEqual(fallback, ['gemini/gemini-2.5-flash'])
})

test('every field that names a model refuses one that no provider serves, with what to write instead', async (context) => {
  const served = await serve(context)
  const compact = [
    'POST',
    `${served.conversationPath}/compact`,
    { compaction_settings: { model: 'nobody/model' } },
    'compaction_settings.model',
  ] as const
  for (const [method, path, body, field] of [...FIELDS('nobody/model', served), compact]) {
    const { status, body: answer } = await served.request(method, path, body)
    assert.ok(status === 404 || status === 400, `${field}: ${status}`)
    assert.match(JSON.stringify(answer), /nobody/)
    if (status === 400) assert.match(JSON.stringify(answer), new RegExp(field.replaceAll('.', '\\.')))
  }
  for (const [method, path, body] of FIELDS('letta/letta-free', served)) {
    const { status, body: answer } = await served.request(method, path, body)
    assert.ok(status === 404 || status === 400)
    assert.match(JSON.stringify(answer), /letta\/auto for the default model/)
  }
  const { compaction_settings, fallback } = (await served.client.agents.retrieve(served.agent.id)) as unknown as Body
  assert.deepEqual([compaction_settings ?? null, fallback], [null, []], 'a refused request changes nothing')
})

test('letta/auto is the default model of the server for one request, and that of the agent for summaries', async (context) => {
  const { client, fixture } = await serveFixture(context, { script: [{ text: 'Yes.' }] })
  const agent = await client.agents.create({ model: 'test/another' })
  await client.agents.messages.create(agent.id, { input: 'Hello', override_model: 'letta/auto' })
  assert.equal(fixture.requests.at(-1)!.model, 'model')
  const changed = await client.agents.update(agent.id, { compaction_settings: { model: 'letta/auto' } })
  assert.deepEqual(changed.compaction_settings, { model: 'letta/auto' })
})

test('an embedding model that no provider serves is kept, and the response says what takes its place', async (context) => {
  const { agentPath, request } = await serve(context)
  for (const embedding of ['letta/letta-free', 'nobody/near', 'near']) {
    const { status, body, warnings } = await request('PATCH', agentPath, { embedding })
    assert.deepEqual([status, body.embedding], [200, embedding])
    assert.match(warnings!, /^embedding: no configured provider serves .*passages are found by words\.$/)
  }
  const made = await request('POST', '/v1/agents', { model: 'chat/gpt-4o', embedding: 'letta/letta-free' })
  assert.match(made.warnings!, /^embedding: /)
})

test('a rule about a tool that the agent does not have is kept, and named until it has it', async (context) => {
  const { agentPath, request } = await serve(context)
  const tool_rules = [{ type: 'run_first', tool_name: 'conversation_search' }]
  const named = await request('PATCH', agentPath, { tool_rules, tools: [] })
  assert.match(named.warnings!, /^tool_rules: the agent does not have conversation_search;/)
  assert.equal((named.body.tool_rules as Body[]).length, 1)
  assert.equal((await request('PATCH', agentPath, { tool_rules, tools: ['conversation_search'] })).warnings, null)
  const made = await request('POST', '/v1/agents', {
    model: 'chat/gpt-4o',
    tools: ['run_code'],
    tool_rules: [{ type: 'exit_loop', tool_name: 'run_code' }],
  })
  assert.match(made.warnings!, /^tools: Holdfast does not have run_code/)
  assert.doesNotMatch(made.warnings!, /tool_rules/)
})

test('an import names what its agent has and Holdfast does not carry out, and keeps settings that it knows', async (context) => {
  const { client, fetch, agent } = await serve(context)
  const file = (await fetch('GET', `/v1/agents/${agent.id}/export`)).body as { agents: Body[] }
  assert.deepEqual(await notesOf({}), undefined)
  const cases: [Body, string[]][] = [
    [{ identity_ids: ['identity-1'], folder_ids: ['folder-1'], source_ids: [] }, ['identity_ids', 'folder_ids']],
    [{ agent_type: 'voice_convo_agent', enable_sleeptime: true }, ['agent_type', 'enable_sleeptime']],
    [{ surprise: { a: 1 }, empty: [], group_ids: ['group-1'] }, ['surprise', 'group_ids']],
    [{ embedding: 'letta/letta-free' }, ['embedding']],
    [
      { compaction_settings: { model: 'nobody/model', mode: 'loop', clip_chars: 500, model_settings: { a: 1 }, x: 1 } },
      ['mode', 'model_settings', 'x', 'model'].map((name) => `compaction_settings.${name}`),
    ],
  ]
  for (const [part, expected] of cases) assert.deepEqual(new Set(await notesOf(part)), new Set(expected))

  async function notesOf(part: Body): Promise<string[] | undefined> {
    const document = { ...file, agents: file.agents.map((one) => Object.assign({}, one, part)) }
    const content = new File([JSON.stringify(document)], 'agent.af')
    const { agent_ids } = await client.agents.importFile({ file: content })
    const { metadata, compaction_settings } = await client.agents.retrieve(agent_ids[0]!)
    if (part.compaction_settings) assert.deepEqual(compaction_settings, part.compaction_settings)
    return (metadata as Body | null)?.not_imported as string[] | undefined
  }
})
