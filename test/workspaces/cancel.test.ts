import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cancelRun } from '../../src/service/runs/runs.ts'
import { missingProgram } from '../harness/programs.ts'
import { processIn } from './fixture-turns.ts'
import { openWorkspaceApp } from './fixture-workspace-app.ts'
import { until } from './fixture-workspaces.ts'
import { BACKGROUND, FOREVER, listRunning, listRunningOf } from './running-processes.ts'

const skip = missingProgram('bwrap')

test('cancelling a turn ends what it started, in the foreground and behind it, and nothing else', {
  skip,
}, async (context) => {
  const house = await openWorkspaceApp(context)
  const older = processIn(await house.call(BACKGROUND))
  const runId = await house.begin(BACKGROUND, FOREVER)
  await until(async () => (await listRunningOf(house, runId)).filter(({ outputBytes }) => outputBytes > 0).length === 2)
  await cancelRun(runId, house.app.context)
  assert.equal((await house.wait(runId)).stopReason, 'cancelled')
  await until(async () => (await listRunningOf(house, runId)).length === 0)
  assert.deepEqual(
    (await listRunning(house)).map(({ processId }) => processId),
    [older],
  )
  const outcome = (await house.outcomes(runId)).at(-1)
  assert.match(outcome?.output ?? '', /^up\n\[process \S+: it was ended because the run was cancelled/)
  assert.equal(outcome?.status, 'error')
})
