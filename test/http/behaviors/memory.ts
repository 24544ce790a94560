import assert from 'node:assert/strict'
import { test } from 'node:test'
import { history, sendIn, type WireValue } from '../send-modes.ts'
import type { BehaviorFixture } from './fixture-behaviors.ts'
import { hello } from './sample-messages.ts'

const insert = (label: string, new_string: string) => ({
  calls: [{ id: `call-${label}`, name: 'memory_insert', arguments: { label, new_string } }],
})

/** Memory blocks and the system prompt that contains them. */
export function memory({ server, newAgent }: BehaviorFixture): void {
  const ask = (agentId: string) => sendIn('blocking', server().client, { agentId, body: hello() })
  const systemOf = (request: WireValue): string =>
    request.body.messages.find(({ role }: WireValue) => role === 'system' || role === 'developer').content
  const value = async (agentId: string, label: string) =>
    (await server().client.agents.blocks.retrieve(label, { agent_id: agentId })).value

  test('blocks keep to their limit, are found by label, can be relabeled, and keep their order on an agent (client 34)', async () => {
    const { client } = server()
    const mark = crypto.randomUUID()
    const block = await client.blocks.create({ label: mark, value: 'kept' })
    assert.equal(block.limit, 100_000)
    const found = (await client.blocks.list({ label: mark })).getPaginatedItems()
    assert.deepEqual(
      found.map(({ id }) => id),
      [block.id],
    )
    const long = { label: 'x', value: 'a'.repeat(23), limit: 10 }
    await assert.rejects(client.blocks.create(long), { status: 422 })
    await assert.rejects(client.blocks.update(block.id, { limit: 3 }), { status: 422 })
    const labels = Array.from({ length: 12 }, (_, index) => `label_${(index * 7) % 12}`)
    const agentId = await newAgent({ memory_blocks: labels.map((label) => ({ label, value: label })) })
    const listed = (await client.agents.blocks.list(agentId)).getPaginatedItems()
    assert.deepEqual(
      listed.map(({ label }) => label),
      labels,
    )
    await client.agents.blocks.update(labels[0]!, { agent_id: agentId, label: 'other' })
    assert.equal(await value(agentId, 'other'), labels[0])
    await assert.rejects(client.agents.blocks.update('other', { agent_id: agentId, label: labels[1]! }), {
      status: 409,
    })
  })

  test('an edit of a block that two agents share is visible to both, as long as it is attached to them (client 34)', async () => {
    const { client } = server()
    const shared = await client.blocks.create({ label: 'shared', value: 'old' })
    const one = await newAgent({ block_ids: [shared.id] })
    const two = await newAgent()
    await client.agents.blocks.attach(shared.id, { agent_id: two })
    await client.blocks.update(shared.id, { value: 'new' })
    assert.deepEqual([await value(one, 'shared'), await value(two, 'shared')], ['new', 'new'])
    await client.agents.blocks.detach(shared.id, { agent_id: two })
    await assert.rejects(value(two, 'shared'), { status: 404 })
    assert.equal(await value(one, 'shared'), 'new')
  })

  test('an agent edits its memory with its tools, except read-only blocks (client 34)', async () => {
    const { simulator } = server()
    const memory_blocks = [
      { label: 'open', value: 'was' },
      { label: 'locked', value: 'stays', read_only: true },
    ]
    const agentId = await newAgent({ include_base_tools: true, memory_blocks })
    simulator.script(
      { when: { attempt: 1 }, answer: insert('open', 'added') },
      { when: { attempt: 2 }, answer: insert('locked', 'added') },
      { answer: { text: 'Done.' } },
    )
    const { messages } = await ask(agentId)
    const results = messages.filter(({ message_type }) => message_type === 'tool_return_message')
    assert.deepEqual(
      results.map(({ status }) => status),
      ['success', 'error'],
    )
    assert.deepEqual([await value(agentId, 'open'), await value(agentId, 'locked')], ['was\nadded', 'stays'])
  })

  test('the system prompt stays byte-identical across turns and edits, and changes after a reset (client 38)', async () => {
    const { client, simulator } = server()
    const memory_blocks = [{ label: 'human', value: 'Name: Bo.' }]
    const agentId = await newAgent({ include_base_tools: true, memory_blocks })
    simulator.script({ when: { attempt: 1 }, answer: insert('human', 'Likes tea.') }, { answer: { text: 'Noted.' } })
    await ask(agentId)
    await ask(agentId)
    await client.agents.blocks.update('human', { agent_id: agentId, value: 'Name: Cy.' })
    await ask(agentId)
    const systems = new Set(simulator.requests.map(systemOf))
    assert.equal(systems.size, 1)
    assert.match([...systems][0]!, /Name: Bo\./)
    await client.agents.messages.reset(agentId, {})
    await ask(agentId)
    assert.match(systemOf(simulator.requests.at(-1)), /Name: Cy\./)
  })

  test('recompiling returns the new prompt, and a dry run does not store it (client 31)', async () => {
    const { client, simulator } = server()
    const agentId = await newAgent({ memory_blocks: [{ label: 'human', value: 'Name: Bo.' }] })
    await ask(agentId)
    await client.agents.blocks.update('human', { agent_id: agentId, value: 'Name: Cy.' })
    const stored = async () => (await everything(agentId))[0]
    const before = await stored()
    assert.match(await client.agents.recompile(agentId, { dry_run: true }), /Name: Cy\./)
    assert.deepEqual(await stored(), before, 'neither the edit nor the trial changed it')
    assert.match(await client.agents.recompile(agentId), /Name: Cy\./)
    await ask(agentId)
    assert.match(systemOf(simulator.requests.at(-1)), /Name: Cy\./)
    assert.match((await stored()).content, /Name: Cy\./)
  })

  test('a block edit, a passage and the tools survive kill -9', async () => {
    const { client, simulator, kill, start } = server()
    const memory_blocks = [{ label: 'human', value: 'Name: Bo.' }]
    const agentId = await newAgent({ include_base_tools: true, memory_blocks })
    simulator.script({ when: { attempt: 1 }, answer: insert('human', 'Likes tea.') }, { answer: { text: 'Noted.' } })
    await ask(agentId)
    await client.agents.passages.create(agentId, { text: 'Tea from Bergen', tags: ['tea'] })
    const before = await client.agents.retrieve(agentId, { include: ['agent.tools'] })
    await kill()
    await start()
    assert.equal(await value(agentId, 'human'), 'Name: Bo.\nLikes tea.')
    const again = await client.agents.retrieve(agentId, { include: ['agent.tools'] })
    assert.deepEqual([again.tools, again.last_stop_reason], [before.tools, 'end_turn'])
    assert.equal((await client.agents.passages.search(agentId, { query: 'bergen' })).count, 1)
    assert.equal((await history(client, agentId)).length, 4)
  })

  async function everything(agentId: string): Promise<WireValue[]> {
    const page = await server().client.agents.messages.list(agentId, { order: 'asc' })
    return page.getPaginatedItems() as WireValue[]
  }
}
