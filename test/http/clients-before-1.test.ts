import assert from 'node:assert/strict'
import { test } from 'node:test'
import { serveFixture } from './fixture-resource-server.ts'
import type { WireValue } from './send-modes.ts'

// The official client before 1.0 names itself in these headers, and prints a warning for each answer without a field
// that it requires.
const HEADERS = { 'x-fern-sdk-name': '@letta-ai/letta-client', 'x-fern-sdk-version': '0.1.211' }

function assertConfig(agent: WireValue, expected: object, where: string): void {
  const config = agent.embedding_config
  assert.equal(typeof config?.embedding_endpoint_type, 'string', where)
  assert.equal(typeof config.embedding_model, 'string', where)
  assert.equal(typeof config.embedding_dim, 'number', where)
  for (const [field, value] of Object.entries(expected)) assert.equal(config[field], value, `${where}: ${field}`)
}

test('a client before 1.0 gets an embedding configuration with every agent; later ones get null without a model', async (t) => {
  const { client, fetch, fixture } = await serveFixture(t, {})
  const ask = async (method: string, path: string, body?: object): Promise<WireValue> =>
    ((await fetch(method, path, body, HEADERS)) as WireValue).body
  const none = { embedding_model: 'none', embedding_dim: 0, handle: null }
  const created = await ask('POST', '/v1/agents/', { name: 'old', model: 'test/model' })
  assertConfig(created, none, 'create')
  const path = `/v1/agents/${created.id}`
  assertConfig(await ask('GET', path), none, 'retrieve')
  for (const one of await ask('GET', '/v1/agents/')) assertConfig(one, none, 'list')
  assertConfig(await ask('GET', `${path}?include_relationships=tools`), none, 'retrieve with parts')
  const block = await ask('POST', '/v1/blocks/', { label: 'human', value: 'Ada' })
  assertConfig(await ask('PATCH', `${path}/core-memory/blocks/attach/${block.id}`), none, 'attach')
  assertConfig(await ask('PATCH', `${path}/reset-messages`, {}), none, 'reset')

  const handle = 'openai/text-embedding-3-small'
  const model = { embedding_model: 'text-embedding-3-small', embedding_endpoint_type: 'openai', handle }
  assertConfig(await ask('PATCH', path, { embedding: handle }), model, 'a model of its own')
  const sent = { embedding_endpoint_type: 'ollama', embedding_model: 'mine', embedding_dim: 3, handle: 'ollama/mine' }
  assertConfig(await ask('PATCH', path, { embedding_config: sent }), model, 'a configuration of another model')
  assertConfig(await ask('PATCH', path, { embedding: 'ollama/mine' }), sent, 'as it was sent')

  assert.equal((await client.agents.retrieve(fixture.agent.id)).embedding_config, null)
  assert.equal((await client.agents.retrieve(created.id)).embedding_config?.embedding_dim, 3)
})

test('reset-messages answers null to the official client, and with the agent to others', async (t) => {
  const { client, fetch, fixture } = await serveFixture(t, {})
  const { id } = fixture.agent
  assert.equal(await client.agents.messages.reset(id, {}), null)
  const { body } = (await fetch('PATCH', `/v1/agents/${id}/reset-messages`, {})) as WireValue
  assert.equal(body.id, id)
})
