import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import type { OrganizationId } from '../../src/core/id.ts'
import { readCommitted, sqliteConnection } from '../../src/storage/database/sqlite-connection.ts'
import { statement } from '../../src/storage/database/statement.ts'

type Named = { id: OrganizationId; name: string }

const insert = statement<Named>()((db, p) =>
  db.insertInto('organizations').values({ id: p('id'), name: p('name'), created_at: 0 }),
)
const names = statement<Record<never, never>>()((db) => db.selectFrom('organizations').select('name').orderBy('id'))

function newFixture(t: TestContext) {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-reads-'))
  const file = join(home, 'reads.db')
  const open = (readOnly: boolean) => new DatabaseSync(file, { readOnly })
  const first = open(false)
  first.exec('pragma journal_mode = wal; create table organizations (id text, name text, created_at text)')
  const second = open(true)
  t.after(() => {
    for (const database of [first, second]) database.close()
    rmSync(home, { recursive: true, force: true })
  })
  const [writer, reader] = [sqliteConnection(first, file), sqliteConnection(second, file)]
  const read = readCommitted(writer, reader)
  const seen = () => read(async (db) => (await db.all(names, {})).map(({ name }) => name))
  return { writer, reader, read, seen }
}

test('a read beside an open transaction sees none of it, and all of it after the commit', async (t) => {
  const { writer, seen } = newFixture(t)
  await writer.transact(async (db) => {
    await db.run(insert, { id: 'org-1', name: 'kept' })
    assert.deepEqual(await seen(), [])
  })
  assert.deepEqual(await seen(), ['kept'])
})

test('a read beside a failing transaction never sees the rolled-back rows', async (t) => {
  const { writer, seen } = newFixture(t)
  const failing = writer.transact(async (db) => {
    await db.run(insert, { id: 'org-1', name: 'lost' })
    assert.deepEqual(await seen(), [])
    throw new Error('not this time')
  })
  await assert.rejects(failing, /not this time/)
  assert.deepEqual(await seen(), [])
})

test('a read never uses the older snapshot of a longer read', async (t) => {
  const { writer, reader, seen } = newFixture(t)
  let waiting: Promise<string[]> | undefined
  await reader.readSnapshot(async (db) => {
    await db.all(names, {})
    await writer.transact((inner) => inner.run(insert, { id: 'org-1', name: 'new' }))
    await writer.transact(async () => {
      // Both connections are busy: the read waits for the reader and runs then.
      waiting = seen()
    })
    assert.deepEqual(await db.all(names, {}), [])
  })
  assert.deepEqual(await waiting, ['new'])
})

test('a read cannot write', async (t) => {
  const { read, seen } = newFixture(t)
  await assert.rejects(read((db) => db.run(insert, { id: 'org-1', name: 'smuggled' })))
  assert.deepEqual(await seen(), [])
})
