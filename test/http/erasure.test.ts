import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { finishErasures } from '../../src/service/agents/erase-remains.ts'
import { MIGRATIONS } from '../../src/storage/migrations/all.ts'
import { migrateSqlite } from '../../src/storage/migrations/migrate.ts'
import { OWNED_TABLES } from '../../src/storage/people/erasure.ts'
import { serveApp } from '../workspaces/fixture-served-app.ts'

/** Files below a folder whose bytes contain the text. */
function filesWith(text: string, folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => statSync(join(folder, name), { throwIfNoEntry: false })?.isFile())
    .filter((name) => readFileSync(join(folder, name)).includes(text))
}

/** A word that occurs nowhere else. */
const SECRET = 'zebrawordthatoccursonce'

test('after a deletion no file of the home contains a word of the agent: not its blocks, streams, notes, outputs, indexes or free pages', async (context) => {
  const { app, home, ask } = await serveApp(context)
  const made = await ask('POST', '/v1/agents', {
    body: {
      name: 'ada',
      model: 'puppet/any',
      memory_blocks: [{ label: 'human', value: `about ${SECRET}` }],
      include_base_tools: false,
    },
  })
  const { id } = made.body as { id: `agent-${string}` }
  const other = await ask('POST', '/v1/blocks', { body: { label: 'shared', value: 'kept by others' } })
  await ask('PATCH', `/v1/agents/${id}/core-memory/blocks/attach/${(other.body as { id: string }).id}`)
  for (let count = 0; count < 30; count++)
    await ask('POST', `/v1/agents/${id}/archival-memory`, { body: { text: `passage ${count} ${SECRET}` } })
  const streamed = await ask('POST', `/v1/agents/${id}/messages`, { body: { input: `hello ${SECRET}` } })
  assert.equal(streamed.status, 200)
  assert.equal((await ask('POST', '/v1/messages/search', { body: { query: SECRET } })).status, 200)
  await app.context.deps.spill.of(id).save('call-1', `long output ${SECRET}`)
  assert.ok(filesWith(SECRET, home).length > 0)

  assert.equal((await ask('DELETE', `/v1/agents/${id}`)).status, 200)
  await finishErasures(app.context, new AbortController().signal)
  assert.deepEqual(filesWith(SECRET, home), [])
  assert.equal((await ask('GET', `/v1/blocks/${(other.body as { id: string }).id}`)).status, 200)
})

test('words of a deleted conversation are erased with its agent', async (context) => {
  const { app, home, ask } = await serveApp(context)
  const made = await ask('POST', '/v1/agents', {
    body: { name: 'ada', model: 'puppet/any', include_base_tools: false },
  })
  const { id } = made.body as { id: string }
  const talk = (await ask('POST', `/v1/conversations?agent_id=${id}`, { body: {} })).body as { id: string }
  const sent = await ask('POST', `/v1/conversations/${talk.id}/messages`, { body: { input: SECRET, streaming: false } })
  assert.equal(sent.status, 200, JSON.stringify(sent.body))
  assert.equal((await ask('DELETE', `/v1/conversations/${talk.id}`)).status, 200)
  assert.equal((await ask('DELETE', `/v1/agents/${id}`)).status, 200)
  await finishErasures(app.context, new AbortController().signal)
  assert.deepEqual(filesWith(SECRET, home), [])
})

test('the report of an erasure names each file that still has the words: postcards, copies from upgrades, old outputs', async (context) => {
  const { app, home, ask } = await serveApp(context)
  const { id } = (await ask('POST', '/v1/organizations', { body: { name: 'acme' } })).body as { id: string }
  const files = ['outbox.jsonl', 'holdfast.db.before-024', join('spill', 'call-1.txt')]
  mkdirSync(join(home, 'spill'), { recursive: true })
  for (const file of files) writeFileSync(join(home, file), `{"message":"${SECRET}"}\n`)
  const { remains } = (await ask('DELETE', `/v1/organizations/${id}`)).body as {
    remains: { file: string; why: string }[]
  }
  await app.context.deps.store.erasure.emptyLog()
  assert.deepEqual(remains.map(({ file }) => file).toSorted(), filesWith(SECRET, home).toSorted())
  assert.ok(remains.every(({ why }) => why.length > 10))
})

test('a block that another agent has stays when the agent it was made with is deleted', async (context) => {
  const { ask } = await serveApp(context)
  const newAgent = async (body: object) =>
    (await ask('POST', '/v1/agents', { body: { model: 'puppet/any', include_base_tools: false, ...body } })).body as {
      id: string
      memory: { blocks: { id: string }[] }
    }
  const first = await newAgent({ memory_blocks: [{ label: 'human', value: 'shared' }] })
  const block = first.memory.blocks[0]!.id
  await newAgent({ block_ids: [block] })
  await ask('DELETE', `/v1/agents/${first.id}`)
  assert.equal((await ask('GET', `/v1/blocks/${block}`)).status, 200)
})

test('an organization can be deleted, with a report; nothing of it is left in the files of the home', async (context) => {
  const { app, home, ask } = await serveApp(context)
  const { id: organization_id } = (await ask('POST', '/v1/organizations', { body: { name: `acme ${SECRET}` } }))
    .body as {
    id: string
  }
  const { key } = (await ask('POST', '/v1/keys', { body: { name: SECRET, scope: 'admin', organization_id } })).body as {
    key: string
  }
  const theirs = (method: string, path: string, body?: object) => ask(method, path, { key, body })
  await theirs('POST', '/v1/users', { name: SECRET })
  await theirs('POST', '/v1/blocks', { label: 'loose', value: SECRET })
  for (const name of ['one', 'two']) {
    const { id } = (await theirs('POST', '/v1/agents', { name: `${name} ${SECRET}`, model: 'puppet/any' })).body as {
      id: string
    }
    await theirs('POST', `/v1/agents/${id}/archival-memory`, { text: SECRET })
    assert.equal((await theirs('POST', `/v1/agents/${id}/messages`, { input: SECRET })).status, 200)
  }
  assert.equal((await theirs('DELETE', `/v1/organizations/${organization_id}`)).status, 403)

  const erased = await ask('DELETE', `/v1/organizations/${organization_id}`)
  assert.equal(erased.status, 200, JSON.stringify(erased.body))
  const { agents, rows, organization } = erased.body as {
    agents: number
    rows: Record<string, number>
    organization: { id: string }
  }
  assert.equal(organization.id, organization_id)
  assert.equal(agents, 2)
  assert.ok(rows.blocks && rows.users === 1 && rows.api_keys === 1, JSON.stringify(rows))
  assert.equal((await theirs('GET', '/v1/agents')).status, 401)
  assert.equal((await ask('GET', `/v1/users?organization_id=${organization_id}`)).status, 404)
  const lines = (await ask('GET', '/v1/audit')).body as { verb: string; object: string }[]
  assert.ok(lines.some(({ verb, object }) => verb === 'organization.delete' && object === organization_id))
  await app.context.deps.store.erasure.emptyLog()
  assert.deepEqual(filesWith(SECRET, home), [])
  assert.equal((await ask('DELETE', '/v1/organizations/org-00000000-0000-4000-8000-000000000000')).status, 422)
})

test('every table that names an organization is erased with it', () => {
  const database = new DatabaseSync(':memory:')
  const location = 'the database in memory'
  migrateSqlite(database, { track: 'store', migrations: MIGRATIONS.store, clock: { now: () => 0 }, location })
  const owned = database
    .prepare(
      `select m.name from sqlite_master m join pragma_table_info(m.name) c on c.name = 'organization_id' where m.type = 'table'`,
    )
    .all()
    .map(({ name }) => String(name))
    // Rows that say what is still to be erased.
    .filter((name) => name !== 'erasures')
  database.close()
  assert.deepEqual(owned.toSorted(), [...OWNED_TABLES].toSorted())
})
