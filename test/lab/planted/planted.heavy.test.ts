import assert from 'node:assert/strict'
import { availableParallelism } from 'node:os'
import { test } from 'node:test'
import { PLANTED_BUGS } from './bugs.ts'
import { hunt, huntAll } from './hunt.ts'

/** Only after about eighty seeds do two processes collide in a way that only the fence prevents. */
test('the lab finds code without a fence', { timeout: 120_000 }, async () => {
  const bug = PLANTED_BUGS.find(({ name }) => name === 'the fence is not checked')
  assert.ok(bug)
  assert.notEqual((await hunt(bug)).seed, undefined)
})

test('the lab finds sequence numbers from memory, and calls without an outcome after a cancel', {
  timeout: 120_000,
}, async () => {
  const cornerstones = ['sequence numbers come from memory', 'a cancel leaves calls without an outcome']
  const bugs = PLANTED_BUGS.filter(({ name }) => cornerstones.includes(name))
  assert.equal(bugs.length, cornerstones.length)
  const catches = await huntAll(bugs, { workers: availableParallelism() })
  assert.deepEqual(
    catches.filter(({ seed }) => seed === undefined),
    [],
  )
})
