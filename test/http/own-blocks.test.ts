import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Letta } from '@letta-ai/letta-client'
import { checkStore } from '../../src/service/store/check-store.ts'
import { serveFixture } from './fixture-resource-server.ts'
import { readStream, type WireValue } from './send-modes.ts'

const MODEL = 'test/model'
const remember = (label: string, text: string) => ({
  calls: [{ tool: 'memory_insert', input: { label, new_string: text } }],
})

/** A field of newer clients, which the types of this one do not have. */
const withOwn = async (client: Letta, agent_id: string, isolated_block_labels: string[]): Promise<WireValue> =>
  client.conversations.create({ agent_id, isolated_block_labels } as never) as Promise<WireValue>

test('an edit of an isolated block changes the copy of its conversation only; other blocks stay shared', async (context) => {
  const { client, fixture } = await serveFixture(context, {
    script: [remember('human', 'Likes tea.'), remember('rules', 'Be kind.'), { text: 'Noted.' }],
  })
  const memory_blocks = [
    { label: 'human', value: 'Name: Ada.' },
    { label: 'rules', value: 'Be brief.' },
  ]
  const agent = await client.agents.create({ model: MODEL, memory_blocks })
  const own = await withOwn(client, agent.id, ['human', 'human'])
  assert.equal(own.isolated_block_ids.length, 1)
  await readStream(await client.conversations.messages.create(own.id, { input: 'Remember' } as never))

  const textOf = async (label: string) => (await client.agents.blocks.retrieve(label, { agent_id: agent.id })).value
  assert.equal(await textOf('human'), 'Name: Ada.')
  assert.match(await textOf('rules'), /Be kind\./)
  const [ownId] = own.isolated_block_ids
  assert.match((await client.blocks.retrieve(ownId!)).value, /Name: Ada\.\nLikes tea\./)

  // After recompiling, each conversation has its own copy in the prompt.
  await client.conversations.recompile(own.id)
  await readStream(await client.conversations.messages.create(own.id, { input: 'x' } as never))
  assert.match(fixture.requests.at(-1)!.system, /Likes tea/)
  const other = await client.conversations.create({ agent_id: agent.id })
  await readStream(await client.conversations.messages.create(other.id, { input: 'x' } as never))
  assert.ok(!fixture.requests.at(-1)!.system.includes('Likes tea'))
  assert.deepEqual((await checkStore(fixture.context)).violations, [])
})

test('a fork has its own copies of isolated blocks, and deleting a conversation deletes its copies', async (context) => {
  const { client } = await serveFixture(context, { script: [{ text: 'Hi.' }] })
  const agent = await client.agents.create({ model: MODEL, memory_blocks: [{ label: 'human', value: 'Name: Ada.' }] })
  const blockCount = async () => (await client.blocks.list()).getPaginatedItems().length
  const before = await blockCount()
  const own = await withOwn(client, agent.id, ['human'])
  const fork = await client.conversations.fork(own.id)
  const updated = (await client.conversations.update(own.id, { summary: 'Tea' })) as WireValue
  assert.deepEqual(updated.isolated_block_ids, own.isolated_block_ids)
  const forked = (await client.conversations.retrieve(fork.id)) as WireValue
  assert.equal(forked.isolated_block_ids.length, 1)
  assert.notDeepEqual(forked.isolated_block_ids, own.isolated_block_ids)
  assert.equal(await blockCount(), before + 2)
  await client.conversations.delete(own.id)
  assert.equal(await blockCount(), before + 1)
  await client.agents.delete(agent.id)
  // Its own blocks were made with the agent, and no other agent has them.
  assert.equal(await blockCount(), 0)
})

test('an unknown block label creates no conversation, and the error names the existing labels', async (context) => {
  const { client, fetch } = await serveFixture(context)
  const agent = await client.agents.create({ model: MODEL, memory_blocks: [{ label: 'human', value: 'Ada' }] })
  const path = `/v1/conversations/?agent_id=${agent.id}`
  const { status, body } = await fetch('POST', path, { isolated_block_labels: ['human', 'fridge'] })
  assert.equal(status, 422)
  assert.match(JSON.stringify(body), /fridge.*Its blocks: human/)
  assert.deepEqual(await client.conversations.list({ agent_id: agent.id }), [])
})
