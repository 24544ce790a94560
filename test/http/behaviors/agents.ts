import assert from 'node:assert/strict'
import { test } from 'node:test'
import { missingProgram } from '../../harness/programs.ts'
import { MODEL } from '../fixture-server-process.ts'
import { history, sendIn, typesIn, type WireValue } from '../send-modes.ts'
import type { BehaviorFixture } from './fixture-behaviors.ts'
import { DICE, hello } from './sample-messages.ts'

const sourceOf = (name: string, does = 'Tells the weather') =>
  `def helper():\n    pass\n\ndef ${name}(city: str):\n    """${does}.\n\n    Args:\n        city (str): Where.\n    """\n    return 1\n`

/** Agents, their tags and their tools. */
export function agents({ server, newAgent }: BehaviorFixture): void {
  const toolNames = async (agentId: string) =>
    (await server().client.agents.tools.list(agentId)).getPaginatedItems().map(({ name }) => name)

  test('agents are found by any or all of their tags, and each tag is listed once (client 35)', async () => {
    const { client } = server()
    const [x, y] = [crypto.randomUUID(), crypto.randomUUID()]
    const one = await newAgent({ tags: [x] })
    const both = await newAgent({ tags: [x, y] })
    const found = async (query: object) => {
      const page = await client.agents.list(query)
      return page
        .getPaginatedItems()
        .map(({ id }) => id)
        .sort()
    }
    assert.deepEqual(await found({ tags: [x, y] }), [one, both].sort())
    assert.deepEqual(await found({ tags: [x, y], match_all_tags: true }), [both])
    const tags = await client.tags.list()
    assert.deepEqual(
      tags.filter((tag) => tag === x || tag === y),
      [x, y].sort(),
    )
  })

  test('a tool takes its name from its last function, is replaced by name, attached, detached and renamed (client 35)', async () => {
    const { client } = server()
    const name = `weather_${crypto.randomUUID().slice(0, 8)}`
    const made = await client.tools.create({ source_code: sourceOf(name) })
    assert.equal(made.name, name)
    await assert.rejects(client.tools.create({ source_code: sourceOf(name) }), { status: 409 })
    const upserted = await client.tools.upsert({ source_code: sourceOf(name, 'Says the weather') })
    assert.deepEqual([upserted.id, upserted.description], [made.id, 'Says the weather.'])
    const agentId = await newAgent({ tools: [] })
    await client.agents.tools.attach(made.id, { agent_id: agentId })
    assert.deepEqual(await toolNames(agentId), [name])
    const renamed = await client.tools.update(made.id, { source_code: sourceOf(`${name}_two`) })
    assert.equal(renamed.name, `${name}_two`)
    assert.deepEqual(await toolNames(agentId), [`${name}_two`])
    await client.agents.tools.detach(made.id, { agent_id: agentId })
    assert.deepEqual(await toolNames(agentId), [])
  })

  test('a tool that a client brings as source runs and its result reaches the model (client 35)', async () => {
    const { client, simulator } = server()
    const name = `later_${crypto.randomUUID().slice(0, 8)}`
    const { id } = await client.tools.create({ source_code: sourceOf(name) })
    const agentId = await newAgent({ tools: [], tool_ids: [id] })
    const call = { id: 'call-1', name, arguments: { city: 'Bergen' } }
    simulator.script({ when: { attempt: 1 }, answer: { calls: [call] } }, { answer: { text: 'Thanks.' } })
    const { messages, stopReason } = await sendIn('step stream', client, { agentId, body: hello() })
    const isSandboxed = missingProgram('bwrap') === false && missingProgram('python3') === false
    assert.deepEqual([messages[1].status, stopReason], [isSandboxed ? 'success' : 'error', 'end_turn'])
  })

  test('an agent is created with tools by name and by id, found by name, has its time zone, and can be updated in part (client 36)', async () => {
    const { client } = server()
    const [dice] = (await client.tools.list({ name: 'roll_dice' })).getPaginatedItems()
    const name = `ada ${crypto.randomUUID()}`
    const agentId = await newAgent({ name, timezone: 'Europe/Oslo', tools: ['slow_count'], tool_ids: [dice!.id] })
    assert.deepEqual((await toolNames(agentId)).sort(), ['roll_dice', 'slow_count'])
    const [found] = (await client.agents.list({ name })).getPaginatedItems()
    assert.deepEqual([found?.id, found?.timezone], [agentId, 'Europe/Oslo'])
    const changed = await client.agents.update(agentId, { system: 'You are Eve.' })
    assert.deepEqual([changed.system, changed.name, changed.model], ['You are Eve.', name, MODEL])
    await client.agents.delete(agentId)
    await assert.rejects(client.agents.retrieve(agentId), { status: 404 })
  })

  test('an agent can be created with an initial message history (client 36)', async () => {
    const { client, simulator } = server()
    const initial_message_sequence = [
      { role: 'user', content: 'My name is Bo.' },
      { role: 'assistant', content: 'Hello, Bo.' },
    ]
    const agentId = await newAgent({ initial_message_sequence })
    assert.deepEqual(typesIn(await history(client, agentId)), ['user_message', 'assistant_message'])
    await sendIn('blocking', client, { agentId, body: hello() })
    const request = JSON.stringify(simulator.requests[0]?.body)
    assert.ok(request.includes('My name is Bo.') && request.includes('Hello, Bo.'))
  })

  test('attaching a tool twice attaches it and its rules once (client 36)', async () => {
    const { client } = server()
    const agentId = await newAgent({ tools: [] })
    const [card] = (await client.tools.list({ name: 'send_postcard' })).getPaginatedItems()
    for (let time = 0; time < 2; time++) await client.agents.tools.attach(card!.id, { agent_id: agentId })
    assert.deepEqual(await toolNames(agentId), ['send_postcard'])
    const { tool_rules }: WireValue = await client.agents.retrieve(agentId, { include: ['agent.tools'] })
    assert.equal(tool_rules.filter(({ tool_name }: WireValue) => tool_name === 'send_postcard').length, 1)
  })

  test('a reset clears the messages from the context and starts a new one (client 36)', async () => {
    const { client, simulator } = server()
    const agentId = await newAgent()
    await client.agents.messages.create(agentId, { input: 'Remember the harbor.' })
    assert.equal(await client.agents.messages.reset(agentId, {}), null)
    assert.equal((await client.agents.retrieve(agentId)).message_ids?.length, 1)
    await sendIn('blocking', client, { agentId, body: hello() })
    assert.ok(!JSON.stringify(simulator.requests.at(-1)?.body).includes('harbor'))
  })

  test('an agent is exported to a file and imported from it with its memory, tools and messages (client 36)', async () => {
    const { client, simulator } = server()
    const name = `ada ${crypto.randomUUID()}`
    const agentId = await newAgent({ name, memory_blocks: [{ label: 'human', value: 'Name: Bo.' }], tags: ['kept'] })
    simulator.script({ when: { attempt: 1 }, answer: DICE }, { answer: { text: 'Rolled.' } })
    await sendIn('blocking', client, { agentId, body: hello() })
    const exported = await client.agents.exportFile(agentId)
    const text = typeof exported === 'string' ? exported : JSON.stringify(exported)
    const { agent_ids } = await client.agents.importFile({ file: new File([text], 'ada.af') })
    assert.equal(agent_ids.length, 1)
    const copy: WireValue = await client.agents.retrieve(agent_ids[0]!, { include: ['agent.blocks', 'agent.tools'] })
    assert.equal(copy.name, `${name}_copy`)
    assert.deepEqual(
      copy.blocks.map(({ value }: WireValue) => value),
      ['Name: Bo.'],
    )
    assert.deepEqual((await toolNames(copy.id)).sort(), (await toolNames(agentId)).sort())
    const types = ['user_message', 'tool_call_message', 'tool_return_message', 'assistant_message']
    assert.deepEqual(typesIn(await history(client, copy.id)), types)
    simulator.script()
    assert.equal((await sendIn('blocking', client, { agentId: copy.id, body: hello() })).stopReason, 'end_turn')
    assert.ok(JSON.stringify(simulator.requests.at(-1)?.body).includes('Rolled.'))
  })
}
