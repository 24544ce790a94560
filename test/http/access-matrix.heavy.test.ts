import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startPostgres } from '../harness/postgres.ts'
import { checkAccess, OPERATIONS } from './access-matrix.ts'

const postgres = await startPostgres()

for (const database of ['SQLite', 'PostgreSQL'] as const) {
  const skip = database === 'PostgreSQL' && 'skip' in postgres ? postgres.skip : false
  test(`${database}: every route answers a key of every scope and organization as its record says`, {
    skip,
    timeout: 300_000,
  }, async (context) => {
    if (database === 'PostgreSQL' && 'stop' in postgres) context.after(() => postgres.stop())
    const databaseUrl = database === 'PostgreSQL' && 'url' in postgres ? postgres.url : ''
    const requests = await checkAccess(context, { operations: OPERATIONS, databaseUrl })
    context.diagnostic(`${OPERATIONS.length} operations, ${requests} requests`)
    assert.ok(OPERATIONS.length > 100)
  })
}
