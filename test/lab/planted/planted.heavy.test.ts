import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PLANTED_BUGS } from './bugs.ts'
import { hunt } from './hunt.ts'

/** Some eighty days pass before two processes meet in a way that only the fence keeps apart. */
test('the lab finds code without a fence', { timeout: 120_000 }, async () => {
  const bug = PLANTED_BUGS.find(({ name }) => name === 'no fence check')
  assert.ok(bug)
  assert.notEqual((await hunt(bug)).seed, undefined)
})
