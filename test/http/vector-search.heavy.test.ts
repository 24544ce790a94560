import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Letta } from '@letta-ai/letta-client'
import { openApp } from '../../src/app.ts'
import { realClock } from '../../src/config/real-clock.ts'
import { DEFAULT_ORGANIZATION } from '../../src/core/id.ts'
import { startServer } from '../../src/http/server.ts'
import { newTextEmbedder } from '../../src/jobs/embed-texts.ts'
import { newScriptedProvider, scriptOf } from '../../src/providers/scripted/script.ts'
import { startSimulator } from '../../src/simulator/start-simulator.ts'
import { startPostgres } from '../harness/postgres.ts'
import { KEY } from './fixture-server-process.ts'

const MODEL = 'house/talker'

/** A server in this process whose passages are embedded when a test triggers it. */
async function serveEmbedding(context: TestContext, more: Record<string, string> = {}, config: object = {}) {
  const simulator = await startSimulator()
  const home = mkdtempSync(join(tmpdir(), 'holdfast-vectors-'))
  const providers = {
    house: { base_url: `${simulator.url}/house/v1` },
    stars: { base_url: simulator.url, dialect: 'gemini' },
    slow: { base_url: `${simulator.url}/slow/v1`, timeout_ms: 1_000 },
  }
  writeFileSync(join(home, 'config.yaml'), JSON.stringify({ embedding: 'house/near', providers, ...config }))
  const environment = { HOLDFAST_HOME: home, ...more }
  const quick = newScriptedProvider({ clock: realClock, scriptFor: () => scriptOf({ text: 'I see.' }) })
  const app = await openApp({ environment, role: 'owner', providers: { quick } })
  const { context: serviceContext } = app
  const server = await startServer({
    context: serviceContext,
    host: '127.0.0.1',
    port: 0,
    apiKey: KEY,
    version: 'test',
    report: serviceContext.deps.report,
  })
  context.after(async () => {
    await server.close()
    await app.close()
    await simulator.close()
    rmSync(home, { recursive: true, force: true })
  })
  const { store, clock } = serviceContext.deps
  const parts = { agents: store.agents, clock, embeddings: serviceContext.embeddings! }
  const embedding = () => newTextEmbedder({ ...parts, vectors: store.passages.vectors })
  const embedMessages = async () => {
    await store.messageSearch.catchUp(5_000)
    await newTextEmbedder({ ...parts, vectors: store.messageSearch.vectors }).work(AbortSignal.timeout(10_000))
  }
  return {
    simulator,
    serviceContext,
    embedding,
    embedMessages,
    client: new Letta({ baseURL: server.url, apiKey: KEY, maxRetries: 0 }),
    embed: () => embedding().work(AbortSignal.timeout(10_000)),
  }
}

type Answer = { results: { content: string }[]; count: number; search_mode: string; notice?: string }

for (const database of ['SQLite', 'PostgreSQL'])
  test(`${database}: passages are found by words at once and by meaning soon after`, async (context) => {
    const postgres = database === 'PostgreSQL' ? await startPostgres() : undefined
    if (postgres && 'skip' in postgres) return context.skip(postgres.skip)
    const served = await serveEmbedding(context, postgres ? { DATABASE_URL: postgres.url } : {})
    const { client, embed, serviceContext, simulator } = served
    const agent = await client.agents.create({ model: MODEL })
    const search = async (query: string, rest: object = {}) =>
      (await client.agents.passages.search(agent.id, { query, ...rest })) as unknown as Answer
    const found = async (query: string, rest: object = {}) =>
      (await search(query, rest)).results.map(({ content }) => content)

    await client.agents.passages.create(agent.id, { text: 'a red boat on the sea', tags: ['water'] })
    await client.agents.passages.create(agent.id, { text: 'an automobile in a garage' })
    assert.deepEqual(await found('boat'), ['a red boat on the sea'])
    assert.deepEqual(await found('ship'), [])
    await embed()
    assert.equal((await found('ship'))[0], 'a red boat on the sea')
    assert.equal((await found('car'))[0], 'an automobile in a garage')
    assert.deepEqual(await found('ship', { top_k: 1 }), ['a red boat on the sea'])
    assert.deepEqual(await found('car', { tags: ['water'] }), ['a red boat on the sea'], 'only what has the tag')
    assert.equal((await search('ship')).search_mode, 'hybrid')
    const [best] = await client.passages.search({ query: 'ship' })
    assert.deepEqual(best?.metadata, { fts_rank: null, vector_rank: 1 })
    const known = await client.models.embeddings.list()
    assert.deepEqual(
      known.map(({ handle, embedding_dim }) => [handle, embedding_dim]),
      [['house/near', 256]],
    )

    // The search tool finds the same.
    const tool = serviceContext.deps.tools.find('archival_memory_search')!
    const context_ = { organizationId: DEFAULT_ORGANIZATION, agentId: agent.id, signal: context.signal } as never
    const answer = await tool.run({ query: 'ship', top_k: 1 }, context_)
    assert.match(JSON.stringify(answer), /a red boat on the sea/)

    // A new embedding model for the agent: everything is embedded again, and no old vector is left.
    await client.agents.update(agent.id, { embedding: 'stars/far' })
    assert.deepEqual(await found('ship'), [], 'what another model embedded is not compared')
    await embed()
    assert.equal((await found('ship'))[0], 'a red boat on the sea')
    const models = await serviceContext.deps.store.passages.vectors.models()
    assert.deepEqual(
      models.map(({ model }) => model),
      ['stars/far'],
    )
    assert.ok(simulator.requests.some(({ path }) => path.includes('/models/far:batchEmbedContents')))

    const passages = await client.agents.passages.list(agent.id)
    for (const { id } of passages) await client.agents.passages.delete(id!, { agent_id: agent.id })
    assert.deepEqual(await serviceContext.deps.store.passages.vectors.models(), [])
    assert.deepEqual(await found('ship'), [])
    if (postgres && 'stop' in postgres) context.after(() => postgres.stop())
  })

test('without a working embedding provider, passages are found by words, and the response says so', async (context) => {
  const { client, embed, embedding, simulator, serviceContext } = await serveEmbedding(context)
  const agent = await client.agents.create({ model: MODEL })
  await client.agents.passages.create(agent.id, { text: 'a red boat' })
  const search = async (query: string) =>
    (await client.agents.passages.search(agent.id, { query })) as unknown as Answer
  const waiting = async () => (await serviceContext.deps.store.passages.vectors.waiting(0, 10)).length

  await simulator.goDown()
  await embed()
  const down = await search('boat')
  assert.deepEqual([down.count, down.search_mode], [1, 'fts'])
  assert.match(down.notice ?? '', /house\/near did not answer \(unreachable\)/)
  const [listed] = await client.passages.search({ query: 'boat' })
  assert.match(String(listed?.metadata?.notice), /unreachable/)
  const tool = serviceContext.deps.tools.find('archival_memory_search')!
  const call = { organizationId: DEFAULT_ORGANIZATION, agentId: agent.id, signal: context.signal } as never
  assert.match(JSON.stringify(await tool.run({ query: 'boat' }, call)), /a red boat.*Searched by words alone/)
  assert.equal(await waiting(), 1, 'the passage still waits for its vector')

  await simulator.comeBack()
  for (const answer of [
    { error: 'server-error' },
    { status: 200, body: { data: [] } },
    { status: 200, body: 'vectors' },
  ]) {
    simulator.script({ when: { protocol: 'embeddings' }, answer: answer as never })
    assert.equal((await search('boat')).search_mode, 'fts', JSON.stringify(answer))
    await embed()
    assert.equal(await waiting(), 1)
  }

  // After a failure the provider is in cooldown: the next search does not call it.
  const one = embedding()
  await one.work(context.signal)
  const requestsBefore = simulator.requests.length
  await one.work(context.signal)
  assert.equal(simulator.requests.length, requestsBefore)

  simulator.script()
  await embed()
  assert.equal(await waiting(), 0)
  assert.equal((await search('ship')).count, 1)
})

test('a text that the embedding model refuses does not affect others and is found by words', async (context) => {
  const { client, embed, simulator, serviceContext } = await serveEmbedding(context)
  const agent = await client.agents.create({ model: MODEL })
  for (const text of ['a red boat', 'unspeakable words', 'a glad person'])
    await client.agents.passages.create(agent.id, { text })
  simulator.script({
    when: { protocol: 'embeddings', contains: 'unspeakable' },
    answer: { error: 'invalid-request', message: 'no' } as never,
  })
  await embed()
  assert.deepEqual(await serviceContext.deps.store.passages.vectors.waiting(0, 10), [])
  const requestsBefore = simulator.requests.length
  await embed()
  assert.equal(simulator.requests.length, requestsBefore, 'the provider is not called again')
  simulator.script()
  const found = async (query: string) =>
    ((await client.agents.passages.search(agent.id, { query })) as unknown as Answer).results[0]?.content
  assert.equal(await found('unspeakable'), 'unspeakable words')
  assert.equal(await found('happy'), 'a glad person')
})

test('a text that is too long is truncated for embedding', async (context) => {
  const { client, embed, simulator, serviceContext } = await serveEmbedding(context)
  const agent = await client.agents.create({ model: MODEL })
  await client.agents.passages.create(agent.id, { text: `a red boat ${'word '.repeat(2_000)}` })
  const tooLong = 'This model has a maximum context length of 8192 tokens, however you requested 9000 tokens.'
  simulator.script({
    when: { protocol: 'embeddings', bytesAbove: 5_000 },
    answer: { status: 400, body: { error: { message: tooLong, type: 'invalid_request_error' } } } as never,
  })
  await embed()
  assert.deepEqual(await serviceContext.deps.store.passages.vectors.waiting(0, 10), [])
  const answer = (await client.agents.passages.search(agent.id, { query: 'ship' })) as unknown as Answer
  assert.equal(answer.count, 1)
})

test('a search waits only once for a provider that does not answer', async (context) => {
  const { client, embed, simulator } = await serveEmbedding(context, { HOLDFAST_EMBEDDING: 'slow/near' })
  const agent = await client.agents.create({ model: MODEL })
  await client.agents.passages.create(agent.id, { text: 'a red boat' })
  simulator.script({ when: { protocol: 'embeddings' }, answer: { line: 'silent' } })
  const search = async (query: string) =>
    (await client.agents.passages.search(agent.id, { query })) as unknown as Answer
  assert.match((await search('boat')).notice ?? '', /timeout/)
  const requestsBefore = simulator.requests.length
  const again = await search('boat')
  assert.deepEqual([again.count, again.search_mode], [1, 'fts'])
  assert.equal(simulator.requests.length, requestsBefore)
  simulator.script()
  await embed()
  assert.equal((await search('ship')).search_mode, 'hybrid', 'a provider that answers again is used again')
})

test('a refused credential is followed by the next one of its pool', async (context) => {
  const { client, embed, simulator } = await serveEmbedding(context, { HOUSE_API_KEY: 'sk-one,sk-two' })
  simulator.keys.set('sk-one', 'revoked')
  simulator.keys.set('sk-two', 'valid')
  const agent = await client.agents.create({ model: MODEL })
  await client.agents.passages.create(agent.id, { text: 'a red boat' })
  await embed()
  const answer = (await client.agents.passages.search(agent.id, { query: 'ship' })) as unknown as Answer
  assert.deepEqual([answer.count, answer.search_mode], [1, 'hybrid'])
})

test('an agent with an unknown embedding model is searched by words, without a notice', async (context) => {
  const { client } = await serveEmbedding(context, { HOLDFAST_EMBEDDING: 'anthropic/claude' })
  assert.equal((await client.models.embeddings.list()).length, 1)
  const agent = await client.agents.create({ model: MODEL, embedding: 'letta/letta-free' })
  await client.agents.passages.create(agent.id, { text: 'a red boat' })
  const answer = (await client.agents.passages.search(agent.id, { query: 'boat' })) as unknown as Answer
  assert.deepEqual([answer.count, answer.search_mode, answer.notice], [1, 'fts', undefined])
})

for (const database of ['SQLite', 'PostgreSQL'])
  test(`${database}: messages are found by words at once and by meaning soon after`, async (context) => {
    const postgres = database === 'PostgreSQL' ? await startPostgres() : undefined
    if (postgres && 'skip' in postgres) return context.skip(postgres.skip)
    if (postgres) context.after(() => postgres.stop())
    const served = await serveEmbedding(context, postgres ? { DATABASE_URL: postgres.url } : {})
    const { client, serviceContext, simulator, embedMessages } = served
    const { messageSearch } = serviceContext.deps.store
    const waiting = async () => (await messageSearch.vectors.waiting(0, 100)).map(({ text }) => text)
    const agent = await client.agents.create({ model: 'quick/any' })
    const other = await client.agents.create({ model: 'quick/any' })
    const say = (to: { id: string }, content: string) =>
      client.agents.messages.create(to.id, { messages: [{ role: 'user', content }] })
    await say(agent, 'a red boat on the sea')
    await say(other, 'an automobile in a garage')
    const search = (query: string, rest: object = {}) => client.messages.search({ query, ...rest })
    const found = async (query: string, rest: object = {}) =>
      (await search(query, rest)).flatMap((found) =>
        found.message_type === 'user_message' ? [(found as unknown as { content: string }).content] : [],
      )

    assert.deepEqual(await found('boat'), ['a red boat on the sea'])
    assert.deepEqual(await found('ship'), [])
    await embedMessages()
    assert.deepEqual(await waiting(), [])
    assert.equal((await found('ship'))[0], 'a red boat on the sea')
    assert.equal((await found('car'))[0], 'an automobile in a garage')
    assert.deepEqual(
      await found('car', { agent_id: agent.id }),
      ['a red boat on the sea'],
      'only messages of this agent',
    )
    assert.deepEqual(await found('ship', { search_mode: 'fts' }), [])
    assert.equal((await found('ship', { search_mode: 'vector' }))[0], 'a red boat on the sea')
    assert.deepEqual(await found('ship', { start_date: '2999-01-01' }), [])
    const [best] = (await search('ship')) as unknown as { fts_rank: null; vector_rank: number; rrf_score: number }[]
    assert.deepEqual([best!.fts_rank, best!.vector_rank, best!.rrf_score > 0], [null, 1, true])

    // The search tool finds the same.
    const tool = serviceContext.deps.tools.find('conversation_search')!
    const call = { organizationId: DEFAULT_ORGANIZATION, agentId: agent.id, signal: context.signal } as never
    assert.match(JSON.stringify(await tool.run({ query: 'ship', limit: 1 }, call)), /a red boat on the sea/)

    // A fork needs no new embeddings: the provider is not called, and the copied messages are found in it.
    const conversation = await client.conversations.create({ agent_id: agent.id })
    await client.conversations.messages.create(conversation.id, { streaming: false, input: 'a glad person' } as never)
    await embedMessages()
    const requestsBefore = simulator.requests.length
    const fork = await client.post<{ id: string }>(`/v1/conversations/${conversation.id}/fork`)
    await embedMessages()
    assert.equal(simulator.requests.length, requestsBefore)
    assert.deepEqual(await found('happy', { conversation_id: fork.id, search_mode: 'vector' }), ['a glad person'])

    // A new embedding model for the agent: all its messages are embedded again.
    await client.agents.update(agent.id, { embedding: 'stars/far' })
    assert.deepEqual(await found('ship', { agent_id: agent.id }), [], 'vectors of another model are not compared')
    await embedMessages()
    assert.equal((await found('ship', { agent_id: agent.id }))[0], 'a red boat on the sea')
    const models = async () => (await messageSearch.vectors.models()).map(({ model }) => model).sort()
    assert.deepEqual(await models(), ['house/near', 'stars/far'])

    // While the provider does not answer, search uses words.
    await simulator.goDown()
    assert.deepEqual(await found('boat', { search_mode: 'vector' }), ['a red boat on the sea'])
    assert.match(JSON.stringify(await tool.run({ query: 'boat' }, call)), /a red boat.*Searched by words alone/)
    await simulator.comeBack()

    await client.agents.delete(agent.id)
    assert.deepEqual(await models(), ['house/near'])
    assert.deepEqual(await found('ship', { search_mode: 'vector' }), ['an automobile in a garage'])
  })

test('messages are not sent to the embedding provider if the operator disables that', async (context) => {
  const { client, serviceContext, simulator } = await serveEmbedding(context, {}, { embed_messages: false })
  const agent = await client.agents.create({ model: 'quick/any' })
  await client.agents.messages.create(agent.id, { messages: [{ role: 'user', content: 'a red boat' }] })
  assert.equal(serviceContext.embeddings?.messages, false)
  const found = await client.messages.search({ query: 'boat', search_mode: 'vector' })
  assert.ok(found.length > 0)
  assert.equal(simulator.requests.length, 0, 'not even the search query')
})
