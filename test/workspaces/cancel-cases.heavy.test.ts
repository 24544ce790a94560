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

test('a command that ignores signals ends too', { skip }, async (context) => {
  const house = await openWorkspaceApp(context)
  const stubborn = "trap '' INT TERM HUP; echo up; while true; do sleep 0.1; done"
  const runId = await house.begin({
    tool: 'shell',
    input: { command: `(setsid bash -c "${stubborn}" &); ${stubborn}` },
  })
  await until(async () => (await listRunningOf(house, runId))[0]?.outputBytes)
  await cancelRun(runId, house.app.context)
  assert.equal((await house.wait(runId)).stopReason, 'cancelled')
  await until(async () => (await listRunning(house)).length === 0)
  assert.match(
    (await house.call({ tool: 'shell', input: { command: 'ps ax | grep -c "[s]leep 0.1"' } })).output,
    /^0\n/,
  )
})

test('what a turn left running outlives the cancel of a later one, an eviction and a restart', {
  skip,
}, async (context) => {
  const house = await openWorkspaceApp(context, { environment: { HOLDFAST_CACHE_ENTRIES: '0' } })
  const command = 'until [ -e go ]; do sleep 0.05; done; echo done at last; exit 6'
  const process_id = processIn(await house.call({ tool: 'shell', input: { command, background: true } }))
  const later = await house.begin(FOREVER)
  await until(async () => (await listRunningOf(house, later)).length === 1)
  await cancelRun(later, house.app.context)
  await house.wait(later)
  await house.restart()
  assert.deepEqual(
    (await listRunning(house)).map(({ processId }) => processId),
    [process_id],
  )
  await house.call({ tool: 'shell', input: { command: 'touch go' } })
  const { output } = await house.call({ tool: 'process', input: { action: 'wait', process_id } })
  assert.match(output, /exit code 6[\s\S]*done at last/)
})

test('whoever died before ending what a cancelled run started is followed by one that does', {
  skip,
}, async (context) => {
  const house = await openWorkspaceApp(context)
  const older = processIn(await house.call(BACKGROUND))
  const cancelled = await house.begin(BACKGROUND, FOREVER)
  await until(async () => (await listRunningOf(house, cancelled)).length === 2)
  // The process that heard of the cancel never came to this.
  const workspace = await house.workspace()
  const { find } = house.workspaces
  house.workspaces.find = async (id) => {
    const found = await find(id)
    return found && { ...found, endProcessesOfRun: async () => {} }
  }
  await cancelRun(cancelled, house.app.context)
  await house.wait(cancelled)
  assert.equal((await workspace.processes()).filter(({ ending }) => !ending).length, 2)
  await house.restart()
  await until(async () => (await listRunningOf(house, cancelled)).length === 0)
  assert.deepEqual(
    (await listRunning(house)).map(({ processId }) => processId),
    [older],
  )
})

test('a workspace whose agent was deleted while nobody could remove it goes', { skip }, async (context) => {
  const house = await openWorkspaceApp(context, { expects: /not today/ })
  await house.call(BACKGROUND)
  house.workspaces.remove = () => Promise.reject(new Error('not today'))
  await deleteAgent(house.agent, house.app.context, AbortSignal.timeout(10_000))
  assert.deepEqual(await house.workspaces.list(), [house.conversationId])
  await house.restart()
  await until(async () => (await house.workspaces.list()).length === 0)
})
