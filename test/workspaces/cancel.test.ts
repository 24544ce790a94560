import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cancelRun } from '../../src/service/runs/runs.ts'
import { missingProgram } from '../harness/programs.ts'
import { processIn } from './fixture-turns.ts'
import { openWorkspaceApp } from './fixture-workspace-app.ts'
import { until } from './fixture-workspaces.ts'
import { BACKGROUND, FOREVER, listRunning, listRunningOf } from './running-processes.ts'

const skip = missingProgram('bwrap')

test('cancelling a turn ends its foreground and background commands, and no others', {
  skip,
}, async (context) => {
  const fixture = await openWorkspaceApp(context)
  const older = processIn(await fixture.call(BACKGROUND))
  const runId = await fixture.begin(BACKGROUND, FOREVER)
  await until(
    async () => (await listRunningOf(fixture, runId)).filter(({ outputBytes }) => outputBytes > 0).length === 2,
  )
  await cancelRun(runId, fixture.app.context)
  assert.equal((await fixture.wait(runId)).stopReason, 'cancelled')
  await until(async () => (await listRunningOf(fixture, runId)).length === 0)
  assert.deepEqual(
    (await listRunning(fixture)).map(({ processId }) => processId),
    [older],
  )
  const outcome = (await fixture.outcomes(runId)).at(-1)
  assert.match(outcome?.output ?? '', /^up\n\[process \S+: it was ended because the run was cancelled/)
  assert.equal(outcome?.status, 'error')
})
