import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import { openApp } from '../../src/app.ts'
import { startServer } from '../../src/http/server.ts'
import { startPostgres } from '../harness/postgres.ts'
import { requestOf } from './fixture-keyed-server.ts'
import { KEY } from './fixture-server-process.ts'

const postgres = await startPostgres()
const skip = 'skip' in postgres ? postgres.skip : false
after(() => ('stop' in postgres ? postgres.stop() : undefined))

/** One server of several on the same database. */
async function serverFor(context: TestContext): Promise<string> {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-keys-'))
  const environment = { HOLDFAST_HOME: home, DATABASE_URL: 'url' in postgres ? postgres.url : '' }
  const app = await openApp({ environment, role: 'owner' })
  const report = app.context.deps.report
  const server = await startServer({
    context: app.context,
    host: '127.0.0.1',
    port: 0,
    apiKey: KEY,
    version: 'test',
    report,
  })
  context.after(async () => {
    await server.close()
    await app.close()
    rmSync(home, { recursive: true, force: true })
  })
  return server.url
}

test('a key that one server revokes is also refused by the other', { skip, timeout: 60_000 }, async (context) => {
  const [one, other] = [await serverFor(context), await serverFor(context)]
  const must = async (path: string, body: unknown, key = KEY) => {
    const response = await fetch(`${one}${path}`, { method: 'POST', ...requestOf(key, body) })
    assert.equal(response.status, 200)
    return (await response.json()) as { id: string; key: string }
  }
  const { id, key } = await must('/v1/keys', { name: 'phone', scope: 'agent' })
  const agent = await must('/v1/agents', { name: 'ada', model: 'scripted/friendly', tools: ['slow_count'] }, key)
  const path = `${other}/v1/agents/${agent.id}/messages/stream`
  const stream = await fetch(path, { method: 'POST', ...requestOf(key, { input: 'count to 60' }) })
  assert.equal(stream.status, 200)

  await fetch(`${one}/v1/keys/${id}`, { method: 'DELETE', ...requestOf(KEY) })
  const at = Date.now()
  await assert.rejects(stream.text())
  assert.ok(Date.now() - at < 3_000, `the stream ended after ${Date.now() - at} ms`)
  for (const url of [one, other]) assert.equal((await fetch(`${url}/v1/agents`, requestOf(key))).status, 401)
  const run = stream.headers.get('x-run-id')
  assert.equal((await fetch(`${one}/v1/runs/${run}`, requestOf(KEY))).status, 200)
  await fetch(`${other}/v1/runs/${run}`, { method: 'DELETE', ...requestOf(KEY) })
  const lines = (await (await fetch(`${one}/v1/audit`, requestOf(KEY))).json()) as { verb: string }[]
  assert.ok(lines.some(({ verb }) => verb === 'key.revoke'))
})

test('bytes that one server stores count for the limit at the other', { skip, timeout: 60_000 }, async (context) => {
  const [one, other] = [await serverFor(context), await serverFor(context)]
  const ask = async (url: string, path: string, { body, key = KEY }: { body?: unknown; key?: string }) => {
    const response = await fetch(`${url}${path}`, { method: 'POST', ...requestOf(key, body) })
    return { status: response.status, body: (await response.json()) as { id: string; key: string; detail: string } }
  }
  const { id } = (await ask(one, '/v1/organizations', { body: { name: 'full' } })).body
  const { key } = (await ask(one, '/v1/keys', { body: { name: 'k', scope: 'agent', organization_id: id } })).body
  const agent = (await ask(one, '/v1/agents', { body: { name: 'full', model: 'scripted/friendly' }, key })).body
  const memory = `/v1/agents/${agent.id}/archival-memory`
  await fetch(`${one}/v1/organizations/${id}/limits`, {
    method: 'PATCH',
    ...requestOf(KEY, { limits: { stored_bytes_per_organization: 100_000 } }),
  })
  for (const url of [one, other, one])
    assert.equal((await ask(url, memory, { body: { text: 'x'.repeat(30_000) }, key })).status, 200)
  // Each server has counted what it took; within a second they know of each other.
  let refused = await ask(other, memory, { body: { text: 'x'.repeat(30_000) }, key })
  for (let tries = 0; refused.status === 200 && tries < 3; tries++)
    refused = await ask(other, memory, { body: { text: 'x'.repeat(30_000) }, key })
  assert.equal(refused.status, 429)
  assert.match(refused.body.detail, /limits\.stored_bytes_per_organization/)
})
