import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PLANTED_BUGS } from './bugs.ts'
import { hunt } from './hunt.ts'
import { patch } from './plant.ts'

test('every planted bug still applies to the code, and there are enough of them', () => {
  for (const bug of PLANTED_BUGS) assert.doesNotThrow(() => patch(bug), bug.name)
  assert.ok(PLANTED_BUGS.length >= 25)
  assert.equal(new Set(PLANTED_BUGS.map((bug) => bug.name)).size, PLANTED_BUGS.length)
})

test('the lab finds a tool that starts before its call is committed', { timeout: 120_000 }, async () => {
  const bug = PLANTED_BUGS.find(({ name }) => name === 'tools start before the commit')
  assert.ok(bug)
  assert.notEqual((await hunt(bug)).seed, undefined)
})
