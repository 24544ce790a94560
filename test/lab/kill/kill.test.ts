import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runKills } from './harness.ts'

const KILLS = 4

test(`a process killed ${KILLS} times under load loses nothing, repeats nothing and leaves nothing stuck`, async () => {
  const report = await runKills({ kills: KILLS, seed: 2 })
  assert.deepEqual(report.violations, [])
  assert.ok(report.accepted > 0, 'the load was there')
})
