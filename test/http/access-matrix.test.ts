import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkAccess, OPERATIONS } from './access-matrix.ts'

/** All operations on both databases are in `access-matrix.heavy.test.ts`; each new operation moves this slice. */
const EVERY = 6

test('every route answers a key of every scope and organization as its record says', async (context) => {
  const operations = OPERATIONS.filter((_, index) => (index + OPERATIONS.length) % EVERY === 0)
  const requests = await checkAccess(context, { operations })
  assert.ok(requests >= operations.length * 10, `${requests} requests`)
})
