import assert from 'node:assert/strict'
import { test } from 'node:test'
import { serveFor } from './fixture-server-process.ts'

test('a server process that is killed after it acknowledged an edit has the edit, the prompt and the tools after the restart', async (t) => {
  const served = await serveFor(t)
  const { client, simulator } = served
  const made = await client.agents.create({
    model: 'openai/simulated-model',
    memory_blocks: [{ label: 'human', value: 'Name: Bo.' }],
  })
  const edit = { id: 'call-1', name: 'memory_insert', arguments: { label: 'human', new_string: 'Likes tea.' } }
  simulator.script({ when: { attempt: 1 }, answer: { calls: [edit] } }, { answer: { text: 'Noted.' } })
  await client.agents.messages.create(made.id, { messages: [{ role: 'user', content: 'I like tea' }] })
  await client.agents.passages.create(made.id, { text: 'Tea from Bergen', tags: ['tea'] })
  await served.kill()
  await served.start()
  const block = await client.agents.blocks.retrieve('human', { agent_id: made.id })
  assert.equal(block.value, 'Name: Bo.\nLikes tea.')
  const again = await client.agents.retrieve(made.id, { include: ['agent.tools'] })
  assert.deepEqual(
    again.tools.map(({ id }) => id),
    made.tools.map(({ id }) => id),
  )
  assert.equal(again.last_stop_reason, 'end_turn')
  assert.equal((await client.agents.passages.search(made.id, { query: 'bergen' })).count, 1)
  assert.ok((await client.models.list()).some(({ handle }) => handle === 'openai/simulated-model'))
  const systems = simulator.requests.map(({ body }) => JSON.stringify(body).match(/<human>.*?<\/human>/)?.[0])
  assert.deepEqual(new Set(systems.filter(Boolean)).size, 1)
})
