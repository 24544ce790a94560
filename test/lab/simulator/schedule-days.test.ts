import assert from 'node:assert/strict'
import { test } from 'node:test'
import { caseCount } from '../../harness/case-count.ts'
import { runScheduleDays } from './schedule-days.ts'

test('weeks of schedules on two servers that die, sleep and have wrong clocks: every instant is settled once', async () => {
  let settled = 0
  let fired = 0
  for (let seed = 1; seed <= caseCount(60); seed++) {
    const report = await runScheduleDays(seed)
    assert.deepEqual(report.violations, [], `seed ${seed}`)
    settled += report.instants
    fired += report.fired
  }
  assert.ok(fired > 100 && settled > 2 * fired, `${fired} of ${settled} fired`)
})
