import assert from 'node:assert/strict'
import { test } from 'node:test'
import { caseCount } from '../../harness/case-count.ts'
import { runHookDays } from './hook-days.ts'

test('days of hooks and webhooks on two servers that die: each delivery is one run, and the end of each run is told of', async () => {
  let runs = 0
  let calls = 0
  for (let seed = 1; seed <= caseCount(40); seed++) {
    const report = await runHookDays(seed)
    assert.deepEqual(report.violations, [], `seed ${seed}`)
    runs += report.runs
    calls += report.calls
  }
  assert.ok(runs > 100 && calls > runs, `${calls} calls for ${runs} runs`)
})
