import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Letta } from '@letta-ai/letta-client'
import { openSecretKeys } from '../../src/config/secret-key.ts'
import { startServer } from '../../src/http/server.ts'
import { requireAgent } from '../../src/service/agents/agents.ts'
import { rotateSecretKey } from '../../src/service/credentials/rotate-secret-key.ts'
import { openMemoryFixture } from '../harness/fixture-memory.ts'
import { KEY } from './fixture-server-process.ts'
import type { WireValue } from './send-modes.ts'

const MODEL = 'test/model'

async function serveWithKeys(t: TestContext) {
  const fixture = await openMemoryFixture(t)
  const secretKeys = openSecretKeys(fixture.home)
  const serviceContext = { ...fixture.context, secretKeys }
  const report = (fault: unknown) => void fixture.faults.push(fault)
  const serve = async (at: typeof serviceContext) => {
    const server = await startServer({
      context: at,
      host: '127.0.0.1',
      port: 0,
      apiKey: KEY,
      version: 'test',
      report,
    })
    t.after(() => server.close())
    return new Letta({ baseURL: server.url, apiKey: KEY, maxRetries: 0 })
  }
  return { fixture, serviceContext, secretKeys, serve, client: await serve(serviceContext) }
}

test('secrets of an agent are encrypted with the key of the home, returned on request, and never written to an agent file', async (context) => {
  const { fixture, client, serviceContext } = await serveWithKeys(context)
  const secrets = { API_KEY: 'open-sesame-4711', OTHER: 'more' }
  const made = (await client.agents.create({ model: MODEL, secrets })) as WireValue
  const shownSecrets = async (): Promise<Record<string, string>> => {
    const agent = (await client.agents.retrieve(made.id, { include: ['agent.secrets'] as never })) as WireValue
    for (const one of agent.secrets) assert.match(one.id, /^agent-env-/)
    return Object.fromEntries(agent.secrets.map(({ key, value }: WireValue) => [key, value]))
  }
  assert.deepEqual(await shownSecrets(), secrets)
  assert.equal(made.metadata, null)
  assert.deepEqual(((await client.agents.retrieve(made.id)) as WireValue).secrets, [])
  await client.agents.update(made.id, { description: 'other' })
  assert.deepEqual(await shownSecrets(), secrets)
  const files = readdirSync(fixture.home).filter((name) => name.includes('db') || name.includes('sqlite'))
  assert.ok(files.length > 0)
  for (const name of files) assert.ok(!readFileSync(join(fixture.home, name)).includes('open-sesame-4711'), name)

  const file = (await client.agents.exportFile(made.id)) as unknown as WireValue
  assert.ok(!JSON.stringify(file).includes('open-sesame-4711'))
  assert.deepEqual(file.agents[0].tool_exec_environment_variables, { API_KEY: '', OTHER: '' })
  const brought = await client.agents.importFile({
    file: new File([JSON.stringify(file)], 'agent.af'),
    secrets: JSON.stringify({ API_KEY: 'another' }),
  })
  const copy = (await client.agents.retrieve(brought.agent_ids[0]!, {
    include: ['agent.secrets'] as never,
  })) as WireValue
  assert.deepEqual(
    copy.secrets.map(({ key, value }: WireValue) => [key, value]),
    [
      ['API_KEY', 'another'],
      ['OTHER', ''],
    ],
  )

  // Secrets are sealed for one agent: they cannot be opened in the row of another.
  const { sealedSecrets } = await requireAgent(made.id, serviceContext)
  assert.equal(serviceContext.secretKeys.box.open(sealedSecrets!, copy.id), undefined)
  await client.agents.update(made.id, { secrets: {} })
  assert.deepEqual(await shownSecrets(), {})
  assert.deepEqual(fixture.faults, [])
})

test('rotating the key of the home encrypts the secrets of agents again, and an agent answers also without the right key', async (context) => {
  const { fixture, client, serviceContext, secretKeys, serve } = await serveWithKeys(context)
  const made = await client.agents.create({ model: MODEL, secrets: { API_KEY: 'open-sesame' } })
  const before = (await requireAgent(made.id, serviceContext)).sealedSecrets
  const clock = { sleep: async () => undefined }
  const deps = { store: serviceContext.deps.store, clock }
  assert.deepEqual(await rotateSecretKey({ secretKeys, deps }), { resealed: 1 })
  const { sealedSecrets } = await requireAgent(made.id, serviceContext)
  assert.notEqual(sealedSecrets, before)
  const include = { include: ['agent.secrets'] as never }
  const agent = (await (
    await serve({ ...serviceContext, secretKeys: openSecretKeys(fixture.home) })
  ).agents.retrieve(made.id, include)) as WireValue
  assert.equal(agent.secrets[0].value, 'open-sesame')

  const stranger = openSecretKeys(join(fixture.home, 'elsewhere'))
  const lost = (await (
    await serve({ ...serviceContext, secretKeys: stranger })
  ).agents.retrieve(made.id, include)) as WireValue
  assert.deepEqual([lost.secrets, lost.metadata], [[], { unreadable_secrets: true }])
})
