import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { realClock as clock } from '../../src/config/real-clock.ts'
import { shareSqliteStore } from '../../src/storage/sqlite.ts'
import { ORGANIZATION } from './fixture-storage.ts'

/** A store, and the query plan of the statement it prepared last. */
async function newFixture(context: TestContext) {
  const database = new DatabaseSync(':memory:')
  const prepared: string[] = []
  const prepare = database.prepare.bind(database)
  database.prepare = (sql) => {
    prepared.push(sql)
    return prepare(sql)
  }
  const { store } = await shareSqliteStore({ database, clock, ownership: 'peer' })
  context.after(async () => {
    await store.close()
    database.close()
  })
  const plan = () =>
    prepare(`explain query plan ${prepared.at(-1)}`)
      .all()
      .map(({ detail }) => String(detail))
  return { store, plan }
}

test('listing active runs does not scan all runs', async (context) => {
  const { store, plan } = await newFixture(context)
  await store.runs.list(ORGANIZATION, { statuses: ['completed'] }, { limit: 10 })
  assert.ok(plan().includes('SCAN runs'), 'a list of all of them is')
  await store.runs.list(ORGANIZATION, { statuses: ['created', 'running'] }, { limit: 10 })
  assert.ok(!plan().includes('SCAN runs'), plan().join('; '))
  await store.runs.list(ORGANIZATION, { waiting: true }, { limit: 10 })
  assert.ok(!plan().includes('SCAN runs'), plan().join('; '))
})
