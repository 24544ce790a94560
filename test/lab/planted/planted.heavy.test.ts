import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PLANTED_BUGS } from './bugs.ts'
import { hunt } from './hunt.ts'

/** Only after about eighty seeds do two processes collide in a way that only the fence prevents. */
test('the lab finds code without a fence', { timeout: 120_000 }, async () => {
  const bug = PLANTED_BUGS.find(({ name }) => name === 'the fence is not checked')
  assert.ok(bug)
  assert.notEqual((await hunt(bug)).seed, undefined)
})
