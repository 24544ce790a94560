import assert from 'node:assert/strict'
import { test } from 'node:test'
import { caseCount } from '../../harness/case-count.ts'
import { openFeedDatabase } from './feed-database.ts'
import { runFeedSeed } from './feed-seed.ts'

test('readers of the feed hear of each change once, and no value of a block is lost, whatever order transactions commit in', async (context) => {
  const database = await openFeedDatabase()
  if ('skip' in database) return context.skip(database.skip)
  context.after(() => database.close())
  let late = 0
  for (let seed = 1; seed <= caseCount(8); seed++) {
    const { violations, reached } = await runFeedSeed(seed, database)
    assert.deepEqual(violations, [], `seed ${seed}`)
    late += reached.get('a transaction that began earlier commits later') ?? 0
  }
  assert.ok(late > 0)
})
