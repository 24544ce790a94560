import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runKillsOverHttp } from './harness.ts'

const KILLS = Number(process.env.KILLS ?? 12)

test(`a server killed ${KILLS} times under the official client loses and repeats nothing, and resumes exactly`, {
  timeout: 600_000,
}, async () => {
  const report = await runKillsOverHttp({ kills: KILLS, seed: Number(process.env.SEED ?? 1) })
  assert.deepEqual(report.violations, [])
  assert.ok(report.accepted > 0, 'the load was there')
})
