import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { serveFixture, statusOf } from './fixture-resource-server.ts'
import { isSystemPrompt, readStream, type WireValue } from './send-modes.ts'

const MODEL = 'test/model'
const hello = (content: string) => ({ messages: [{ role: 'user', content }] }) as never

test('messages are found by words: of all agents, of one agent, or in one conversation', async (context) => {
  const { client, fetch } = await serveFixture(context, { script: [{ text: 'The kettle text is on.' }] })
  const ada = await client.agents.create({ model: MODEL })
  const bob = await client.agents.create({ model: MODEL })
  const talk = await client.conversations.create({ agent_id: ada.id })
  await client.agents.messages.create(ada.id, hello('Blue whales sing "low" songs'))
  await client.agents.messages.create(bob.id, hello('Whales are large'))
  await readStream(await client.conversations.messages.create(talk.id, hello('Nothing but whales here')))
  await client.conversations.fork(talk.id)

  const find = async (query: string, more: object = {}): Promise<WireValue[]> =>
    (await client.messages.search({ query, ...more } as never)) as WireValue[]
  for (const search_mode of ['fts', 'vector', 'hybrid']) {
    const found = await find('blue WHALES', { search_mode })
    assert.equal(found.length, 3, 'a message copied by a fork is found once')
    assert.equal(found[0].content, 'Blue whales sing "low" songs')
    assert.deepEqual([found[0].message_type, found[0].agent_id], ['user_message', ada.id])
    // Every mode searches by words only here, and the ranks say so.
    assert.deepEqual(
      found.map(({ fts_rank, vector_rank }) => [fts_rank, vector_rank]),
      [
        [1, null],
        [2, null],
        [3, null],
      ],
    )
  }
  const contents = async (query: string, more: object = {}) => (await find(query, more)).map(({ content }) => content)
  assert.deepEqual(await contents('whales', { agent_id: bob.id }), ['Whales are large'])
  assert.deepEqual(await contents('whales', { conversation_id: talk.id }), ['Nothing but whales here'])
  assert.equal((await contents('whales', { limit: 2 })).length, 2)
  assert.deepEqual(await contents('whales', { end_date: '2020-01-01' }), [])
  assert.equal((await contents('kettle', { start_date: '2020-01-01' })).length, 3)
  // JSON keys of the stored form are not part of the searchable text.
  for (const word of ['role', 'content', 'calls']) assert.deepEqual(await contents(word), [], word)
  assert.equal((await contents('text')).length, 3)
  assert.deepEqual(await contents('%'), await contents(''))

  await client.conversations.delete(talk.id)
  assert.equal((await contents('nothing but')).length, 1, 'the copy in the fork remains')

  const bad: [object, number][] = [
    [{}, 422],
    [{ query: 'x', search_mode: 'guess' }, 422],
    [{ query: 'x', limit: 0 }, 422],
    [{ query: 'x', start_date: 'soon' }, 422],
    [{ query: 'x', agent_id: 'ada' }, 422],
    [{ query: 'x', agent_id: `agent-${randomUUID()}` }, 404],
    [{ query: 'x', conversation_id: `conv-${randomUUID()}` }, 404],
  ]
  for (const [body, status] of bad)
    assert.equal((await fetch('POST', '/v1/messages/search', body)).status, status, JSON.stringify(body))
})

test('the messages of all agents are listed, newest first', async (context) => {
  const { client } = await serveFixture(context, { script: [{ text: 'Yes.' }] })
  const ids = [await client.agents.create({ model: MODEL }), await client.agents.create({ model: MODEL })]
  for (const [index, { id }] of ids.entries()) await client.agents.messages.create(id, hello(`word ${index}`))
  const all = (await client.messages.list()) as WireValue[]
  assert.deepEqual(
    all.map(({ message_type }) => message_type),
    ['assistant_message', 'user_message', 'assistant_message', 'user_message'],
  )
  assert.deepEqual(await client.messages.list({ order: 'asc' }), all.toReversed())
  assert.deepEqual(await client.messages.list({ limit: 2, after: all[1].id }), all.slice(2))
  assert.deepEqual(await client.messages.list({ limit: 1, before: all[2].id }), all.slice(1, 2))
  assert.deepEqual(await client.messages.list({ include_return_message_types: ['user_message'] }), [all[1], all[3]])
  const talk = await client.conversations.create({ agent_id: ids[0]!.id })
  assert.deepEqual(await client.messages.list({ conversation_id: talk.id }), [])
  assert.equal(await statusOf(client.messages.list({ after: `message-${randomUUID()}` })), 404)
  assert.equal(await statusOf(client.messages.list({ after: 'nobody' })), 422)
  assert.ok(!all.some(isSystemPrompt))
})

test('passages of all agents can be searched', async (context) => {
  const { client, fetch } = await serveFixture(context)
  const ada = await client.agents.create({ model: MODEL })
  const bob = await client.agents.create({ model: MODEL })
  await client.agents.passages.create(ada.id, { text: 'A lighthouse by the sea', tags: ['place'] })
  await client.agents.passages.create(bob.id, { text: 'The sea is deep' })
  const find = async (body: object): Promise<string[]> =>
    (await client.passages.search(body as never)).map(({ passage }) => passage.text)
  assert.deepEqual((await find({ query: 'sea' })).sort(), ['A lighthouse by the sea', 'The sea is deep'])
  assert.deepEqual(await find({ query: 'sea', agent_id: bob.id }), ['The sea is deep'])
  assert.deepEqual(await find({ tags: ['place'] }), ['A lighthouse by the sea'])
  assert.deepEqual(await find({ limit: 1 }), ['The sea is deep'])
  assert.equal((await fetch('POST', '/v1/passages/search', { limit: 'many' })).status, 422)
})
