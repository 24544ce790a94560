import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defined } from '../../src/core/defined.ts'
import { holdfast } from '../cli/holdfast.ts'
import { openServer } from './fixture-server-process.ts'

type LimitsBody = { provider_keys: string[] | null; own_keys: string[] }

test('an organization uses keys of its own, keys of the server only where it may, and no key of another one', async (context) => {
  const server = await openServer()
  context.after(() => server.close())
  const { simulator, home, environment } = server
  const run = (args: string[], input = '') => holdfast(args, { home, environment, input })
  const request = async (key: string | undefined, method: string, path: string, body?: unknown) => {
    const text = body === undefined ? undefined : JSON.stringify(body)
    const answer = await server.fetch(path, { method, ...defined({ key, body: text }) })
    return { status: answer.status, body: (await answer.json()) as never }
  }
  const newTenant = async (name: string) => {
    const { id } = (await request(undefined, 'POST', '/v1/organizations', { name })).body as { id: string }
    const made = await request(undefined, 'POST', '/v1/keys', { name, scope: 'agent', organization_id: id })
    return { id, key: (made.body as { key: string }).key }
  }
  /** The key that reached the provider, or why none did. */
  const payer = async (key: string): Promise<string> => {
    const before = simulator.requests.length
    const agent = (
      await request(key, 'POST', '/v1/agents', { name: 'ada', model: 'openai/simulated-model', fallback: [] })
    ).body as { id: string }
    const sent = await request(key, 'POST', `/v1/agents/${agent.id}/messages`, { input: 'hi' })
    const asked = simulator.requests.slice(before)
    return asked[0]?.key ?? (sent.body as { detail: string }).detail
  }

  const acme = await newTenant('acme')
  const other = await newTenant('other')
  assert.equal(await payer(acme.key), 'sk-simulated')

  const added = await run(['auth', 'add', 'openai', '--organization', 'acme', '--key-stdin'], 'sk-of-acme\n')
  assert.equal(added.code, 0, added.stderr)
  assert.equal(await payer(acme.key), 'sk-of-acme')
  assert.equal(await payer(other.key), 'sk-simulated')
  const listed = await run(['auth', 'list', '--organization', 'acme', '--json'])
  assert.match(listed.stdout, /openai/)
  assert.doesNotMatch(listed.stdout, /sk-of-acme|sk-simulated|OPENAI_API_KEY/)

  const limit = (id: string, provider_keys: string[] | null) =>
    request(undefined, 'PATCH', `/v1/organizations/${id}/limits`, { provider_keys })
  assert.equal((await limit(other.id, ['anthropic'])).status, 200)
  const unknown = await limit(other.id, ['no-such-provider'])
  assert.equal(unknown.status, 422)
  assert.match((unknown.body as { detail: string }).detail, /no-such-provider/)
  const shown = (await request(other.key, 'GET', '/v1/limits')).body as LimitsBody
  assert.deepEqual([shown.provider_keys, shown.own_keys], [['anthropic'], []])
  assert.match(await payer(other.key), /may not use this model/)

  const set = await run(['limits', 'set', '--organization', 'acme', '--provider-keys', 'none'])
  assert.equal(set.code, 0, set.stderr)
  assert.match(set.stdout, /keys of the server +none\n.*keys of its own +openai/)
  assert.equal(await payer(acme.key), 'sk-of-acme', 'its own key needs no permission')
  const removed = await run(['auth', 'remove', 'default', '--organization', 'acme', '--yes'])
  assert.equal(removed.code, 0, removed.stderr)
  assert.match(await payer(acme.key), /may not use this model/)
})
