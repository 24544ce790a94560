import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deleteAgent } from '../../src/service/agents/agents.ts'
import { cancelRun } from '../../src/service/runs/runs.ts'
import { missingProgram } from '../harness/programs.ts'
import { processIn } from './fixture-turns.ts'
import { openWorkspaceApp } from './fixture-workspace-app.ts'
import { until } from './fixture-workspaces.ts'
import { BACKGROUND, FOREVER, listRunning, listRunningOf } from './running-processes.ts'

const skip = missingProgram('bwrap')

test('a command that ignores signals is killed too', { skip }, async (context) => {
  const fixture = await openWorkspaceApp(context)
  const stubborn = "trap '' INT TERM HUP; echo up; while true; do sleep 0.1; done"
  const runId = await fixture.begin({
    tool: 'shell',
    input: { command: `(setsid bash -c "${stubborn}" &); ${stubborn}` },
  })
  await until(async () => ((await listRunningOf(fixture, runId))[0]?.outputBytes ?? 0) > 0)
  await cancelRun(runId, fixture.app.context)
  assert.equal((await fixture.wait(runId)).stopReason, 'cancelled')
  await until(async () => (await listRunning(fixture)).length === 0)
  assert.match(
    (await fixture.call({ tool: 'shell', input: { command: 'ps ax | grep -c "[s]leep 0.1"' } })).output,
    /^0\n/,
  )
})

test('background processes of a turn survive the cancel of a later turn, an eviction and a restart', {
  skip,
}, async (context) => {
  const fixture = await openWorkspaceApp(context, { environment: { HOLDFAST_CACHE_ENTRIES: '0' } })
  const command = 'until [ -e go ]; do sleep 0.05; done; echo done at last; exit 6'
  const process_id = processIn(await fixture.call({ tool: 'shell', input: { command, background: true } }))
  const later = await fixture.begin(FOREVER)
  await until(async () => (await listRunningOf(fixture, later)).length === 1)
  await cancelRun(later, fixture.app.context)
  await fixture.wait(later)
  await fixture.restart()
  assert.deepEqual(
    (await listRunning(fixture)).map(({ processId }) => processId),
    [process_id],
  )
  await fixture.call({ tool: 'shell', input: { command: 'touch go' } })
  const { output } = await fixture.call({ tool: 'process', input: { action: 'wait', process_id } })
  assert.match(output, /exit code 6[\s\S]*done at last/)
})

test('if the server dies before it ends the processes of a cancelled run, the next server ends them', {
  skip,
}, async (context) => {
  const fixture = await openWorkspaceApp(context)
  const older = processIn(await fixture.call(BACKGROUND))
  const cancelled = await fixture.begin(BACKGROUND, FOREVER)
  await until(async () => (await listRunningOf(fixture, cancelled)).length === 2)
  // The process that received the cancel died before this.
  const workspace = await fixture.workspace()
  const { find } = fixture.workspaces
  fixture.workspaces.find = async (id) => {
    const found = await find(id)
    return found && { ...found, endProcessesOfRun: async () => {} }
  }
  await cancelRun(cancelled, fixture.app.context)
  await fixture.wait(cancelled)
  assert.equal((await workspace.processes()).filter(({ ending }) => !ending).length, 2)
  await fixture.restart()
  await until(async () => (await listRunningOf(fixture, cancelled)).length === 0)
  assert.deepEqual(
    (await listRunning(fixture)).map(({ processId }) => processId),
    [older],
  )
})

test('the janitor removes the workspace of an agent that was deleted while removal failed', {
  skip,
}, async (context) => {
  const fixture = await openWorkspaceApp(context, { expects: /not today/ })
  await fixture.call(BACKGROUND)
  fixture.workspaces.remove = () => Promise.reject(new Error('not today'))
  await deleteAgent(fixture.agent, fixture.app.context, AbortSignal.timeout(10_000))
  assert.deepEqual(await fixture.workspaces.list(), [fixture.conversationId])
  await fixture.restart()
  await until(async () => (await fixture.workspaces.list()).length === 0)
})
