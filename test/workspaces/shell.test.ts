import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Workspace } from '../../src/ports/workspaces.ts'
import { cancelRun } from '../../src/service/runs/runs.ts'
import { watchRun } from '../../src/service/runs/watch-run.ts'
import { missingProgram } from '../harness/programs.ts'
import { gate } from '../harness/tools.ts'
import { openTurns, outcomesIn, processIn } from './fixture-turns.ts'
import { until } from './fixture-workspaces.ts'

const skip = missingProgram('bwrap')

test('a command answers with what it printed, its exit code and how long it took', { skip }, async (context) => {
  const { shell } = await openTurns(context)
  const good = await shell('echo out; echo err >&2')
  assert.equal(good.status, 'success')
  assert.match(good.output, /^out\nerr\n\[process \S+: exit code 0, after \d+\.\d s\]$/)
  const bad = await shell('exit 3')
  assert.equal(bad.status, 'error')
  assert.match(bad.output, /^\[process \S+: exit code 3, after/)
  assert.match((await shell('kill -9 $$')).output, /killed by SIGKILL/)
})

test('working directory, environment and files stay from one command to the next', { skip }, async (context) => {
  const { shell } = await openTurns(context, { cacheEntries: 0 })
  await shell('mkdir work; cd work; export WORD=kept; echo text > file')
  assert.match((await shell('pwd; echo $WORD; cat file')).output, /^\/workspace\/work\nkept\ntext\n/)
})

test('of a long output the beginning and the end are shown, and what is between can be read', {
  skip,
}, async (context) => {
  const { shell, call } = await openTurns(context)
  const { output } = await shell('for i in $(seq 1 20000); do echo "line $i"; done')
  assert.ok(output.length < 30_000)
  assert.match(output, /^line 1\nline 2\n/)
  assert.match(output, /line 20000\n\[process/)
  const hint = /process (\{"action":"log".*?\}) reads them/.exec(output)?.[1]
  assert.ok(hint, output.slice(7_900, 8_200))
  const log = await call({ tool: 'process', input: JSON.parse(hint) as object })
  assert.match(log.output, /line 1000\n/)
  assert.match(log.output, /next: \d+\]$/)
})

test('a command that takes longer moves to the background and goes on', { skip }, async (context) => {
  const { shell, call, workspace } = await openTurns(context)
  const moved = await shell('echo begun; until [ -e go ]; do sleep 0.05; done; echo over', { timeout_seconds: 1 })
  assert.equal(moved.status, 'success')
  assert.match(moved.output, /^begun\n\[process \S+: running for .*Not over after 1 s: moved to the background/)
  assert.equal((await (await workspace()).process(processIn(moved)))?.background, true)
  await (await workspace()).files.write('go', '')
  const waited = await call({ tool: 'process', input: { action: 'wait', process_id: processIn(moved) } })
  assert.match(waited.output, /exit code 0, after[\s\S]*over/)
})

test('a background command answers at once, and one that fails at once says so', { skip }, async (context) => {
  const { shell } = await openTurns(context)
  const running = await shell('echo ready; sleep 1000', { background: true })
  assert.match(running.output, /^ready\n\[process \S+: running for .*It runs in the background/)
  const failed = await shell('echo no >&2; exit 4', { background: true })
  assert.deepEqual([failed.status, /no\n\[process \S+: exit code 4/.test(failed.output)], ['error', true])
})

test('whoever watches sees the end of the output while the command runs', { skip }, async (context) => {
  const { begin, house, workspace } = await openTurns(context)
  const runId = await begin({
    tool: 'shell',
    input: { command: 'echo one; echo two; until [ -e go ]; do sleep 0.05; done' },
  })
  const chunks = house.chunks(runId)
  for await (const { chunk } of watchRun(runId, { signal: AbortSignal.timeout(60_000) }, house.context))
    if (chunk.message_type === 'tool_progress') break
  await (await workspace()).files.write('go', '')
  const told = (await chunks).filter((chunk) => chunk.message_type === 'tool_progress')
  assert.deepEqual(
    told.map((chunk) => 'text' in chunk && chunk.text),
    ['one\ntwo'],
  )
})

test('a command that destroys waits for a person, one that does not runs', { skip }, async (context) => {
  const { begin, house, shell } = await openTurns(context)
  await shell('mkdir precious; echo 1 > precious/file; echo "rm -rf precious"')
  const run = await house.wait(await begin({ tool: 'shell', input: { command: 'rm -rf precious' } }))
  assert.equal(run.stopReason, 'requires_approval')
})

test('where nothing holds a command, a person is asked about each one', async (context) => {
  const { begin, house } = await openTurns(context, { containment: 'local' })
  const run = await house.wait(await begin({ tool: 'shell', input: { command: 'true' } }))
  assert.equal(run.stopReason, 'requires_approval')
})

test('a command that is running when its server is killed is found again, and ran once', { skip }, async (context) => {
  const { begin, house, workspace } = await openTurns(context)
  const runId = await begin({
    tool: 'shell',
    input: { command: 'echo ran >> effects; until [ -e go ]; do sleep 0.05; done; cat effects; exit 5' },
  })
  await until(async () => (await (await workspace()).files.read('effects')).type === 'done')
  await house.crash()
  await house.restart()
  await (await workspace()).files.write('go', '')
  assert.equal((await house.wait(runId)).stopReason, 'end_turn')
  const [outcome, ...more] = outcomesIn(await house.events(runId))
  assert.deepEqual([outcome?.status, more], ['error', []])
  assert.match(outcome?.output ?? '', /^ran\n\[process \S+: exit code 5/)
})

test('one that ended while no server was there is told as it ended', { skip }, async (context) => {
  const { begin, house, workspaces } = await openTurns(context)
  const command = 'echo ran >> effects; until [ -e go ]; do sleep 0.05; done; cat effects'
  const runId = await begin({ tool: 'shell', input: { command } })
  const workspace = await until(() => workspaces.find(house.conversationId))
  const [process] = await until(async () => {
    const all = await workspace.processes()
    return all.length > 0 && all
  })
  await house.crash()
  await workspace.files.write('go', '')
  await workspace.wait(process!.processId, AbortSignal.timeout(10_000))
  await house.restart()
  await house.wait(runId)
  const outcomes = outcomesIn(await house.events(runId))
  assert.deepEqual([outcomes.length, outcomes[0]?.status], [1, 'success'])
  assert.match(outcomes[0]?.output ?? '', /^ran\n\[process \S+: exit code 0/)
})

test('a cancel that comes while the next server asks about a command ends it, and says so', {
  skip,
}, async (context) => {
  const { begin, house, workspace, workspaces } = await openTurns(context)
  const runId = await begin({ tool: 'shell', input: { command: 'echo up; sleep 1000' } })
  await until(async () => (await (await workspace()).processes())[0]?.outputBytes)
  await house.crash()
  const { find } = workspaces
  const asked = gate()
  workspaces.find = async (id) => {
    const found = await find(id)
    const wait: Workspace['wait'] = (...about) => {
      asked.open()
      return found!.wait(...about)
    }
    return found && { ...found, wait }
  }
  await house.restart()
  await asked.promise
  await cancelRun(runId, house.context)
  assert.equal((await house.wait(runId)).stopReason, 'cancelled')
  const outcomes = outcomesIn(await house.events(runId))
  assert.deepEqual([outcomes.length, outcomes[0]?.status], [1, 'error'])
  assert.match(outcomes[0]?.output ?? '', /^up\n.*it was ended because the run was cancelled/)
})

test('one whose call had begun and itself had not runs in the next life', { skip }, async (context) => {
  const { house, workspaces, begin } = await openTurns(context)
  const open = workspaces.open
  const asked = Promise.withResolvers<void>()
  workspaces.open = () => {
    asked.resolve()
    return new Promise(() => {})
  }
  const runId = await begin({ tool: 'shell', input: { command: 'echo ran >> effects; cat effects' } })
  await asked.promise
  await house.crash()
  workspaces.open = open
  await house.restart()
  await house.wait(runId)
  const outcomes = outcomesIn(await house.events(runId))
  assert.match(outcomes[0]?.output ?? '', /^ran\n\[process/)
  assert.equal(outcomes.length, 1)
})

test('a server that stops leaves the command running and its call open', { skip }, async (context) => {
  const { begin, house, workspace } = await openTurns(context)
  const command = 'echo ran >> effects; until [ -e go ]; do sleep 0.05; done; cat effects'
  const runId = await begin({ tool: 'shell', input: { command } })
  await until(async () => (await (await workspace()).files.read('effects')).type === 'done')
  await house.stop()
  await house.restart()
  const recorded = await house.events(runId)
  assert.deepEqual(outcomesIn(recorded), [])
  // And once more, while the call is being asked about.
  await until(
    async () =>
      (await house.events(runId)).length >= recorded.length && house.context.engine?.dispatcher.isRunning(runId),
  )
  await house.stop()
  await house.restart()
  assert.deepEqual(outcomesIn(await house.events(runId)), [])
  const process = (await (await workspace()).processes())[0]
  assert.equal(process?.ending, undefined)
  await (await workspace()).files.write('go', '')
  assert.equal((await house.wait(runId)).stopReason, 'end_turn')
  const outcomes = outcomesIn(await house.events(runId))
  assert.equal(outcomes.length, 1)
  assert.match(outcomes[0]?.output ?? '', /^ran\n\[process \S+: exit code 0/)
})

test('a command whose sandbox is killed under it is told as lost, and is not run again', { skip }, async (context) => {
  const { begin, house, workspaces, workspace } = await openTurns(context)
  const runId = await begin({ tool: 'shell', input: { command: 'echo ran >> effects; sleep 1000' } })
  await until(async () => (await (await workspace()).files.read('effects')).type === 'done')
  const { folder } = (await workspaces.inspect(house.conversationId))!
  const { pid } = JSON.parse(readFileSync(join(folder, 'supervisor.json'), 'utf8')) as { pid: number }
  process.kill(pid, 'SIGKILL')
  await house.wait(runId)
  const [outcome, ...more] = outcomesIn(await house.events(runId))
  assert.deepEqual([outcome?.status, more], ['error', []])
  assert.match(outcome?.output ?? '', /it was lost: the sandbox or the machine ended under it/)
  const effects = await (await workspace()).files.read('effects')
  assert.equal(effects.type === 'done' && effects.text.trim(), 'ran')
})

test('a workspace that is removed under a command: the model is told what is known', { skip }, async (context) => {
  const { begin, house, workspaces, workspace } = await openTurns(context)
  const runId = await begin({ tool: 'shell', input: { command: 'touch begun; sleep 1000' } })
  await until(async () => (await (await workspace()).files.read('begun')).type === 'done')
  await workspaces.remove(house.conversationId)
  await house.wait(runId)
  const [outcome] = outcomesIn(await house.events(runId))
  assert.equal(outcome?.status, 'error')
  assert.match(outcome?.output ?? '', /it was ended with everything else in this workspace|was removed/)
})
