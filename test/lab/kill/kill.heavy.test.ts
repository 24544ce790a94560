import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runKills } from './harness.ts'

const KILLS = Number(process.env.KILLS ?? 10)

test(`a process killed ${KILLS} times under load loses nothing, repeats nothing and leaves nothing stuck`, {
  timeout: 600_000,
}, async () => {
  const report = await runKills({ kills: KILLS, seed: Number(process.env.SEED ?? 1) })
  assert.deepEqual(report.violations, [])
  assert.ok(report.accepted > 0, 'the load was there')
})
