import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runKillsOverHttp } from './harness.ts'

const KILLS = 3

test(`a server killed ${KILLS} times under the official client loses and repeats nothing, and resumes exactly`, async () => {
  const report = await runKillsOverHttp({ kills: KILLS, seed: 2 })
  assert.deepEqual(report.violations, [])
  assert.ok(report.accepted > 0, 'the load was there')
})
