import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkStore } from '../../src/service/store/check-store.ts'
import { serveFixture } from './fixture-resource-server.ts'

type Version = { version: number; is_present: boolean; characters: number; written_at: string; written_by: object }

test('the history of a block names who wrote each value, a tool of an agent with its run, and any value comes back', async (context) => {
  const edit = { calls: [{ tool: 'memory_insert', input: { label: 'human', new_string: 'Likes tea.' } }] }
  const { client, fetch, fixture } = await serveFixture(context, { script: [edit, { text: 'Noted.' }] })
  const memory_blocks = [{ label: 'human', value: 'Name: Ada.' }]
  const agent = await client.agents.create({ model: 'test/model', memory_blocks })
  const { id } = await client.agents.blocks.retrieve('human', { agent_id: agent.id })
  await client.agents.messages.create(agent.id, { input: 'I like tea' })
  await client.blocks.update(id, { value: 'Wrong.' })
  await client.blocks.update(id, { description: 'who' })

  const list = async () => (await fetch('GET', `/v1/blocks/${id}/versions`)).body as Version[]
  const run = (await client.runs.list({ agent_id: agent.id })).getPaginatedItems()[0]!
  const home = { type: 'key', actor: 'home', key_name: null, user_id: null }
  assert.deepEqual(
    (await list()).map(({ version, is_present, characters, written_by }) => [
      version,
      is_present,
      characters,
      written_by,
    ]),
    [
      [3, true, 6, home],
      [2, false, 21, { type: 'agent', agent_id: agent.id, run_id: run.id }],
      [1, false, 10, home],
    ],
  )
  const second = await fetch('GET', `/v1/blocks/${id}/versions/2`)
  assert.equal((second.body as { value: string }).value, 'Name: Ada.\nLikes tea.')
  const restored = await fetch('POST', `/v1/blocks/${id}/versions/2/restore`)
  assert.equal((restored.body as { value: string }).value, 'Name: Ada.\nLikes tea.')
  assert.equal((restored.body as { description: string }).description, 'who')
  assert.deepEqual(
    (await list()).map(({ version }) => version),
    [4, 3, 2, 1],
  )
  // Restoring what the block has is no change.
  await fetch('POST', `/v1/blocks/${id}/versions/4/restore`)
  assert.equal((await list()).length, 4)
  assert.deepEqual((await checkStore(fixture.context)).violations, [])
})

test('a version that is not there, or does not fit any more, is refused with the reason', async (context) => {
  const { client, fetch } = await serveFixture(context)
  const { id } = await client.blocks.create({ label: 'human', value: 'twelve chars' })
  await client.blocks.update(id, { value: 'short', limit: 5 })
  const detail = async (method: string, path: string) => {
    const { status, body } = await fetch(method, `/v1/blocks/${path}`)
    return [status, JSON.stringify(body)] as const
  }
  const [status, text] = await detail('POST', `${id}/versions/1/restore`)
  assert.equal(status, 422)
  assert.match(text, /too long/)
  assert.match((await detail('GET', `${id}/versions/9`))[1], /no version 9. Its newest one is 2/)
  assert.equal((await detail('GET', `${id}/versions/0`))[0], 422)
  assert.equal((await detail('GET', `${id}/versions/x`))[0], 422)
  assert.equal((await detail('GET', `${id.replace(/.$/, (end) => (end === '0' ? '1' : '0'))}/versions`))[0], 404)
})

test('a tool that is run by hand is named with the key that ran it', async (context) => {
  const { client, fetch } = await serveFixture(context)
  const memory_blocks = [{ label: 'human', value: 'Name: Ada.' }]
  const agent = await client.agents.create({ model: 'test/model', memory_blocks })
  const { id } = await client.agents.blocks.retrieve('human', { agent_id: agent.id })
  const args = { label: 'human', new_string: 'Likes tea.' }
  const { status } = await fetch('POST', `/v1/agents/${agent.id}/tools/memory_insert/run`, { args })
  assert.equal(status, 200)
  const [present] = (await fetch('GET', `/v1/blocks/${id}/versions`)).body as Version[]
  assert.deepEqual([present!.version, (present!.written_by as { actor: string }).actor], [2, 'home'])
})
