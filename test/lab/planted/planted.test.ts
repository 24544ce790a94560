import assert from 'node:assert/strict'
import { availableParallelism } from 'node:os'
import { test } from 'node:test'
import { PLANTED_BUGS } from './bugs.ts'
import { huntAll } from './hunt.ts'
import { patch } from './plant.ts'

/** The most basic guarantees, besides the fence, which `planted.heavy.test.ts` removes. */
const CORNERSTONES = [
  'tools start before the commit',
  'sequence numbers come from memory',
  'a cancel leaves calls without an outcome',
]

test('every planted bug still applies to the code, and there are enough of them', () => {
  for (const bug of PLANTED_BUGS) assert.doesNotThrow(() => patch(bug), bug.name)
  assert.ok(PLANTED_BUGS.length >= 25)
  assert.equal(new Set(PLANTED_BUGS.map((bug) => bug.name)).size, PLANTED_BUGS.length)
})

test('the lab finds code without write-ahead, expected sequence or outcomes after a cancel', {
  timeout: 120_000,
}, async () => {
  const bugs = PLANTED_BUGS.filter((bug) => CORNERSTONES.includes(bug.name))
  assert.equal(bugs.length, CORNERSTONES.length)
  const catches = await huntAll(bugs, { workers: availableParallelism() })
  assert.deepEqual(
    catches.filter(({ seed }) => seed === undefined),
    [],
  )
})
