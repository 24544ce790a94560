import assert from 'node:assert/strict'
import { test } from 'node:test'
import { caseCount } from '../../harness/case-count.ts'
import { runOpenaiCopies } from './openai-copies.ts'

test('requests of OpenAI’s client to two servers that die, with copies in any order: each has one run', async () => {
  let copies = 0
  for (let seed = 1; seed <= caseCount(60); seed++) {
    const report = await runOpenaiCopies(seed)
    assert.deepEqual(report.violations, [], `seed ${seed}`)
    copies += report.copies
  }
  assert.ok(copies > 200, `only ${copies} copies`)
})
