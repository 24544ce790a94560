import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startPostgres } from '../../harness/postgres.ts'
import { FEED_BUGS } from './feed-bugs.ts'
import { huntAll } from './hunt.ts'

test('the lab finds a feed that skips late commits or repeats changes, and a history that loses values', async (context) => {
  const server = await startPostgres()
  if ('skip' in server) return context.skip(server.skip)
  await server.stop()
  const found = await huntAll(FEED_BUGS, { workers: 1 })
  assert.deepEqual(
    found.filter(({ seed }) => seed === undefined),
    [],
  )
})
