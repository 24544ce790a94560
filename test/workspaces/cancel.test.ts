import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cancelRun } from '../../src/service/runs/runs.ts'
import { lacks } from '../harness/programs.ts'
import { until } from './house.ts'
import { BACKGROUND, FOREVER, running, runningOf } from './running.ts'
import { processIn } from './turns.ts'
import { openWorkspaceApp } from './workspace-app.ts'

const skip = lacks('bwrap')

test('cancelling a turn ends what it started, in the foreground and behind it, and nothing else', {
  skip,
}, async (context) => {
  const house = await openWorkspaceApp(context)
  const older = processIn(await house.call(BACKGROUND))
  const runId = await house.begin(BACKGROUND, FOREVER)
  await until(async () => (await runningOf(house, runId)).filter(({ outputBytes }) => outputBytes > 0).length === 2)
  await cancelRun(runId, house.app.desk)
  assert.equal((await house.wait(runId)).stopReason, 'cancelled')
  await until(async () => (await runningOf(house, runId)).length === 0)
  assert.deepEqual(
    (await running(house)).map(({ processId }) => processId),
    [older],
  )
  const outcome = (await house.outcomes(runId)).at(-1)
  assert.match(outcome?.output ?? '', /^up\n\[process \S+: it was ended because the run was cancelled/)
  assert.equal(outcome?.status, 'error')
})
