import assert from 'node:assert/strict'
import { test } from 'node:test'
import { serveDialects } from './fixture-dialects.ts'
import { statusOf } from './fixture-resource-server.ts'

const LONG = 'word '.repeat(400)

test('a conversation that reaches the limit of its window is summarized, whatever the window of the model', async (context) => {
  const { client, simulator, send, fixture, fetch } = await serveDialects(context)
  simulator.script({ answer: { text: 'Yes.', usage: 'none' } })
  const limited = await client.agents.create({
    model: 'chat/gpt-4o',
    context_window_limit: 2_500,
    include_base_tools: false,
  })
  assert.equal(limited.llm_config.context_window, 2_500)
  const free = await client.agents.create({ model: 'chat/gpt-4o', include_base_tools: false })
  const conversation = await client.conversations.create({ agent_id: free.id, context_window_limit: 2_500 })
  const spoken = async (id: string, input: string): Promise<{ run_id: string }> => {
    const { body } = await fetch('POST', `/v1/conversations/${id}/messages`, { input, streaming: false })
    return (body as { messages: { run_id: string }[] }).messages[0]!
  }
  const compactions = async (runs: string[]): Promise<number> => {
    const events = await Promise.all(runs.map((run) => fixture.events(run as never)))
    return events.flat().filter(({ type }) => type === 'context-compacted').length
  }
  const runs: Record<'limited' | 'free' | 'conversation', string[]> = { limited: [], free: [], conversation: [] }
  for (let turn = 0; turn < 6; turn++) {
    const input = `${turn} ${LONG}`
    runs.limited.push(await send(limited.id, { input } as never))
    runs.free.push(await send(free.id, { input } as never))
    const { run_id } = await spoken(conversation.id, input)
    runs.conversation.push(run_id)
  }
  assert.equal(await compactions(runs.free), 0)
  assert.ok((await compactions(runs.limited)) > 0, 'the limit of the agent')
  assert.ok((await compactions(runs.conversation)) > 0, 'the limit of the conversation')
  const shown = await client.agents.messages.stream(limited.id, {
    input: LONG.repeat(4),
    include_compaction_messages: true,
  })
  const types: string[] = []
  for await (const { message_type } of shown) types.push(String(message_type))
  assert.ok(types.includes('summary_message' as never), types.join(' '))
})

test('a limit below the system prompt is refused when it is set, with the name of its field', async (context) => {
  const { client, fetch, send } = await serveDialects(context)
  const system = LONG.repeat(4)
  const agent = await client.agents.create({ model: 'chat/model', system })
  const conversation = await client.conversations.create({ agent_id: agent.id })
  const REFUSED: [method: string, path: string, body: object, field: RegExp][] = [
    ['POST', '/v1/agents', { model: 'chat/model', system, context_window_limit: 1_000 }, /body.context_window_limit/],
    ['PATCH', `/v1/agents/${agent.id}`, { context_window_limit: 1_000 }, /body.context_window_limit/],
    ['PATCH', `/v1/agents/${agent.id}`, { llm_config: { context_window: 1_000 } }, /body.llm_config.context_window/],
    ['POST', `/v1/conversations?agent_id=${agent.id}`, { context_window_limit: 900 }, /body.context_window_limit/],
    ['PATCH', `/v1/conversations/${conversation.id}`, { context_window_limit: 900 }, /body.context_window_limit/],
    ['PATCH', `/v1/agents/${agent.id}`, { context_window_limit: 0 }, /body.context_window_limit/],
    ['PATCH', `/v1/agents/${agent.id}`, { context_window_limit: 1.5 }, /body.context_window_limit/],
  ]
  for (const [method, path, body, field] of REFUSED) {
    const answer = await fetch(method, path, body)
    assert.equal(answer.status, 422, `${JSON.stringify(body).slice(-60)}: ${JSON.stringify(answer.body)}`)
    assert.match(JSON.stringify(answer.body), field)
  }
  const small = await client.agents.create({ model: 'chat/model', system: 'Be kind.', context_window_limit: 1_000 })
  assert.equal(await statusOf(client.agents.update(small.id, { system })), 422, 'a prompt that outgrows the limit')
  await send(agent.id)
})

test('a client that sends back the configuration it read sets no limit', async (context) => {
  const { client } = await serveDialects(context)
  const agent = await client.agents.create({ model: 'chat/gpt-4o' })
  const { context_window } = agent.llm_config
  await client.agents.update(agent.id, { llm_config: { ...agent.llm_config, temperature: 0.5 } })
  const changed = await client.agents.update(agent.id, { model: 'chat/unknown-model' })
  assert.notEqual(changed.llm_config.context_window, 0)
  const limited = await client.agents.update(agent.id, { llm_config: { ...agent.llm_config, context_window: 3_000 } })
  assert.deepEqual([context_window, limited.llm_config.context_window], [128_000, 3_000])
})

test('an agent file with a limit below its prompt is imported without it, and says so', async (context) => {
  const { client, fetch, send } = await serveDialects(context)
  const agent = await client.agents.create({ model: 'chat/model', system: LONG.repeat(4) })
  const file = (await fetch('GET', `/v1/agents/${agent.id}/export`)).body as { agents: Record<string, unknown>[] }
  file.agents[0]!.context_window_limit = 100
  file.agents[0]!.llm_config = { ...(file.agents[0]!.llm_config as object), put_inner_thoughts_in_kwargs: true }
  const { agent_ids } = await client.agents.importFile({ file: new File([JSON.stringify(file)], 'agent.af') })
  const { metadata } = await client.agents.retrieve(agent_ids[0]!)
  assert.deepEqual(metadata?.not_imported, ['llm_config.put_inner_thoughts_in_kwargs', 'context_window_limit'])
  await send(agent_ids[0]!)
})
