import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Letta } from '@letta-ai/letta-client'
import { queueModel, says } from '../harness/queue-model.ts'
import { serveFixture } from './fixture-resource-server.ts'

const MODEL = 'test/model'

/** The client passes fields through that its types do not have. */
type WithChain = { id: string; model: string; fallback: string[] }

const create = async (client: Letta, body: object): Promise<WithChain> =>
  (await client.agents.create({ model: MODEL, ...body } as never)) as never
const update = async (client: Letta, id: string, body: object): Promise<WithChain> =>
  (await client.agents.update(id, body as never)) as never
const read = async (client: Letta, id: string): Promise<WithChain> => (await client.agents.retrieve(id)) as never

const refusal = async (work: Promise<unknown>): Promise<{ status: number; message: string }> =>
  work.then(
    () => assert.fail('it was accepted'),
    ({ status, error }) => ({ status, message: String(error.detail?.[0]?.msg ?? error.detail) }),
  )

test('the official client sets, reads, replaces and removes the fallback chain of an agent', async (context) => {
  const { client } = await serveFixture(context)
  const agent = await create(client, { fallback: ['test/second', 'test/last'] })
  assert.deepEqual(agent.fallback, ['test/second', 'test/last'])
  assert.deepEqual((await update(client, agent.id, { description: 'x' })).fallback, agent.fallback)
  assert.deepEqual((await update(client, agent.id, { fallback: ['test/third'] })).fallback, ['test/third'])
  assert.deepEqual((await read(client, agent.id)).fallback, ['test/third'])
  const listed = (await client.agents.list()).getPaginatedItems().find(({ id }) => id === agent.id)
  assert.deepEqual((listed as unknown as WithChain).fallback, ['test/third'])
  assert.deepEqual((await update(client, agent.id, { fallback: null })).fallback, ['test/third'])
  assert.deepEqual((await update(client, agent.id, { fallback: [] })).fallback, [])
  assert.deepEqual((await create(client, {})).fallback, [])
})

test('an impossible chain is refused with its place in the field, and the agent stays as it was', async (context) => {
  const { client, fixture } = await serveFixture(context)
  const agent = await create(client, { fallback: ['test/second'] })
  const cases: [object, number, RegExp][] = [
    [{ fallback: ['test/second', 'nobody/model'] }, 400, /fallback\.1: provider nobody of "nobody\/model" is not conf/],
    [{ fallback: ['gpt'] }, 400, /fallback\.0: "gpt" is not a model handle/],
    [{ fallback: ['test/second', MODEL] }, 400, /fallback\.1: "test\/model" is already the model/],
    [{ fallback: ['test/a', 'test/b', 'test/a'] }, 400, /fallback\.2: "test\/a" is in the chain twice/],
    [{ fallback: Array.from({ length: 101 }, (_, index) => `test/${index}`) }, 422, /body\.fallback/],
    [{ fallback: 'test/second' }, 422, /body\.fallback/],
  ]
  for (const [body, status, message] of cases)
    for (const work of [() => create(client, body), () => update(client, agent.id, body)]) {
      const refused = await refusal(work())
      assert.equal(refused.status, status, JSON.stringify(body))
      assert.match(refused.message, message)
    }
  const alone = await refusal(update(client, agent.id, { model: 'test/second' }))
  assert.deepEqual([alone.status, /fallback\.0: .* is already the model/.test(alone.message)], [400, true])
  const after = await read(client, agent.id)
  assert.deepEqual([after.model, after.fallback], [MODEL, ['test/second']])
  const swapped = await update(client, agent.id, { model: 'test/second', fallback: [MODEL] })
  assert.deepEqual([swapped.model, swapped.fallback], ['test/second', [MODEL]])
  assert.deepEqual(fixture.faults, [])
})

test('an agent file carries the fallback chain, and an import can replace it', async (context) => {
  const { client } = await serveFixture(context)
  const agent = await create(client, { fallback: ['test/second', 'test/last'] })
  const exported = (await client.agents.exportFile(agent.id)) as unknown
  const file = (typeof exported === 'string' ? JSON.parse(exported) : exported) as { agents: Record<string, unknown>[] }
  assert.deepEqual(file.agents[0]!.fallback, agent.fallback)
  const bring = async (document: object, form: object = {}): Promise<string[]> => {
    const content = new File([JSON.stringify(document)], 'agent.af')
    const { agent_ids } = await client.agents.importFile({ file: content, ...form } as never)
    return (await read(client, agent_ids[0]!)).fallback
  }
  assert.deepEqual(await bring(file), agent.fallback)
  const older = { ...file, agents: file.agents.map(({ fallback: _, ...rest }) => rest) }
  assert.deepEqual(await bring(older), [])
  const foreign = { ...file, agents: file.agents.map((one) => ({ ...one, fallback: ['test/a', 'nobody/model'] })) }
  const refused = await refusal(bring(foreign))
  assert.deepEqual([refused.status, /fallback\.1: provider nobody/.test(refused.message)], [400, true])
  assert.deepEqual(await bring(foreign, { fallback: 'test/a, test/b' }), ['test/a', 'test/b'])
  assert.deepEqual(await bring(foreign, { fallback: 'none' }), [])
})

test('model handles of the retired server are renamed with a warning, or refused with what to write instead', async (context) => {
  const model = queueModel([says('Hello.')])
  const { client, fixture } = await serveFixture(context, { providers: () => ({ test: model, gemini: model }) })
  const { data, response } = await client.agents.create({ model: 'google_ai/gemini-2.5-flash' }).withResponse()
  assert.equal(data.model, 'gemini/gemini-2.5-flash')
  const warning = response.headers.get('x-holdfast-warnings')
  assert.equal(warning, 'model: google_ai/gemini-2.5-flash is gemini/gemini-2.5-flash here.')
  const agent = await create(client, { fallback: ['google_ai/gemini-2.5-pro'] })
  assert.deepEqual(agent.fallback, ['gemini/gemini-2.5-pro'])
  assert.equal((await update(client, agent.id, { model: 'google_ai/gemini-2.5-flash' })).model, data.model)
  const cases: [string, RegExp][] = [
    ['google_vertex/gemini-2.5-flash', /Write gemini\/gemini-2\.5-flash/],
    ['letta/letta-free', /letta\/auto for the default model/],
    ['azure/gpt-4o', /AZURE_OPENAI_BASE_URL/],
    ['bedrock/claude', /Write anthropic\//],
    ['chatgpt_oauth/gpt-5', /Write codex\/gpt-5/],
  ]
  const exported = (await client.agents.exportFile(agent.id)) as unknown
  const file = (typeof exported === 'string' ? JSON.parse(exported) : exported) as { agents: object[] }
  const bring = (handle: string) => {
    const agents = file.agents.map((one) => ({ ...one, model: handle, fallback: [] }))
    return client.agents.importFile({ file: new File([JSON.stringify({ ...file, agents })], 'agent.af') })
  }
  for (const [handle, advice] of cases) {
    for (const work of [
      () => create(client, { model: handle }),
      () => update(client, agent.id, { model: handle }),
      () => bring(handle),
    ]) {
      const { status, message } = await refusal(work())
      assert.equal(status, 404)
      assert.match(message, advice)
    }
    assert.match((await refusal(bring(handle))).message, /The form field `model` replaces/)
    const { status, message } = await refusal(update(client, agent.id, { fallback: [handle] }))
    assert.deepEqual([status, message.includes('fallback.0: ')], [400, true])
  }
  const { agent_ids } = await bring('google_ai/gemini-2.5-flash')
  assert.equal((await read(client, agent_ids[0]!)).model, data.model)
  assert.deepEqual(fixture.faults, [])
})
