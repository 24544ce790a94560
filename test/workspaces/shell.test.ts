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

test('a command answers with its output, exit code and duration', { skip }, async (context) => {
  const { shell } = await openTurns(context)
  const good = await shell('echo out; echo err >&2')
  assert.equal(good.status, 'success')
  assert.match(good.output, /^out\nerr\n\[process \S+: exit code 0, after \d+\.\d s\]$/)
  const bad = await shell('exit 3')
  assert.equal(bad.status, 'error')
  assert.match(bad.output, /^\[process \S+: exit code 3, after/)
  assert.match((await shell('kill -9 $$')).output, /killed by SIGKILL/)
})

test('working directory, environment and files carry over from one command to the next', { skip }, async (context) => {
  const { shell } = await openTurns(context, { cacheEntries: 0 })
  await shell('mkdir work; cd work; export WORD=kept; echo text > file')
  assert.match((await shell('pwd; echo $WORD; cat file')).output, /^\/workspace\/work\nkept\ntext\n/)
})

test('a long output is shown by its beginning and end, and the rest can be read', {
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

test('a command that exceeds its timeout moves to the background and continues', { skip }, async (context) => {
  const { shell, call, workspace } = await openTurns(context)
  const moved = await shell('echo begun; until [ -e go ]; do sleep 0.05; done; echo over', { timeout_seconds: 1 })
  assert.equal(moved.status, 'success')
  assert.match(moved.output, /^begun\n\[process \S+: running for .*Not over after 1 s: moved to the background/)
  assert.equal((await (await workspace()).process(processIn(moved)))?.background, true)
  await (await workspace()).files.write('go', '')
  const waited = await call({ tool: 'process', input: { action: 'wait', process_id: processIn(moved) } })
  assert.match(waited.output, /exit code 0, after[\s\S]*over/)
})

test('a background command answers at once, and an immediate failure is reported', { skip }, async (context) => {
  const { shell } = await openTurns(context)
  const running = await shell('echo ready; sleep 1000', { background: true })
  assert.match(running.output, /^ready\n\[process \S+: running for .*It runs in the background/)
  const failed = await shell('echo no >&2; exit 4', { background: true })
  assert.deepEqual([failed.status, /no\n\[process \S+: exit code 4/.test(failed.output)], ['error', true])
})

test('progress shows the end of the output while the command runs', { skip }, async (context) => {
  const { begin, fixture, workspace } = await openTurns(context)
  const runId = await begin({
    tool: 'shell',
    input: { command: 'echo one; echo two; until [ -e go ]; do sleep 0.05; done' },
  })
  const chunks = fixture.chunks(runId)
  for await (const { chunk } of watchRun(runId, { signal: AbortSignal.timeout(60_000) }, fixture.context))
    if (chunk.message_type === 'tool_progress') break
  await (await workspace()).files.write('go', '')
  const progress = (await chunks).filter((chunk) => chunk.message_type === 'tool_progress')
  assert.deepEqual(
    progress.map((chunk) => 'text' in chunk && chunk.text),
    ['one\ntwo'],
  )
})

test('a destructive command waits for approval, another one runs', { skip }, async (context) => {
  const { begin, fixture, shell } = await openTurns(context)
  await shell('mkdir precious; echo 1 > precious/file; echo "rm -rf precious"')
  const run = await fixture.wait(await begin({ tool: 'shell', input: { command: 'rm -rf precious' } }))
  assert.equal(run.stopReason, 'requires_approval')
})

test('without a sandbox every command waits for approval', async (context) => {
  const { begin, fixture } = await openTurns(context, { containment: 'local' })
  const run = await fixture.wait(await begin({ tool: 'shell', input: { command: 'true' } }))
  assert.equal(run.stopReason, 'requires_approval')
})

test('a command that runs when its server is killed is found again, and runs once', { skip }, async (context) => {
  const { begin, fixture, workspace } = await openTurns(context)
  const runId = await begin({
    tool: 'shell',
    input: { command: 'echo ran >> effects; until [ -e go ]; do sleep 0.05; done; cat effects; exit 5' },
  })
  await until(async () => (await (await workspace()).files.read('effects')).type === 'done')
  await fixture.crash()
  await fixture.restart()
  await (await workspace()).files.write('go', '')
  assert.equal((await fixture.wait(runId)).stopReason, 'end_turn')
  const [outcome, ...more] = outcomesIn(await fixture.events(runId))
  assert.deepEqual([outcome?.status, more], ['error', []])
  assert.match(outcome?.output ?? '', /^ran\n\[process \S+: exit code 5/)
})

test('a command that ended while no server ran is reported with its ending', { skip }, async (context) => {
  const { begin, fixture, workspaces } = await openTurns(context)
  const command = 'echo ran >> effects; until [ -e go ]; do sleep 0.05; done; cat effects'
  const runId = await begin({ tool: 'shell', input: { command } })
  const workspace = await until(() => workspaces.find(fixture.conversationId))
  const [process] = await until(async () => {
    const all = await workspace.processes()
    return all.length > 0 && all
  })
  await fixture.crash()
  await workspace.files.write('go', '')
  await workspace.wait(process!.processId, AbortSignal.timeout(10_000))
  await fixture.restart()
  await fixture.wait(runId)
  const outcomes = outcomesIn(await fixture.events(runId))
  assert.deepEqual([outcomes.length, outcomes[0]?.status], [1, 'success'])
  assert.match(outcomes[0]?.output ?? '', /^ran\n\[process \S+: exit code 0/)
})

test('a cancel during the verification of a command ends it, and is reported', {
  skip,
}, async (context) => {
  const { begin, fixture, workspace, workspaces } = await openTurns(context)
  const runId = await begin({ tool: 'shell', input: { command: 'echo up; sleep 1000' } })
  await until(async () => ((await (await workspace()).processes())[0]?.outputBytes ?? 0) > 0)
  await fixture.crash()
  const { find } = workspaces
  const waited = gate()
  workspaces.find = async (id) => {
    const found = await find(id)
    const wait: Workspace['wait'] = (...about) => {
      waited.open()
      return found!.wait(...about)
    }
    return found && { ...found, wait }
  }
  await fixture.restart()
  await waited.promise
  await cancelRun(runId, fixture.context)
  assert.equal((await fixture.wait(runId)).stopReason, 'cancelled')
  const outcomes = outcomesIn(await fixture.events(runId))
  assert.deepEqual([outcomes.length, outcomes[0]?.status], [1, 'error'])
  assert.match(outcomes[0]?.output ?? '', /^up\n.*it was ended because the run was cancelled/)
})

test('a command whose call had started but that had not run yet runs after a restart', { skip }, async (context) => {
  const { fixture, workspaces, begin } = await openTurns(context)
  const open = workspaces.open
  const waited = Promise.withResolvers<void>()
  workspaces.open = () => {
    waited.resolve()
    return new Promise(() => {})
  }
  const runId = await begin({ tool: 'shell', input: { command: 'echo ran >> effects; cat effects' } })
  await waited.promise
  await fixture.crash()
  workspaces.open = open
  await fixture.restart()
  await fixture.wait(runId)
  const outcomes = outcomesIn(await fixture.events(runId))
  assert.match(outcomes[0]?.output ?? '', /^ran\n\[process/)
  assert.equal(outcomes.length, 1)
})

test('a graceful shutdown leaves the command running and its call open', { skip }, async (context) => {
  const { begin, fixture, workspace } = await openTurns(context)
  const command = 'echo ran >> effects; until [ -e go ]; do sleep 0.05; done; cat effects'
  const runId = await begin({ tool: 'shell', input: { command } })
  await until(async () => (await (await workspace()).files.read('effects')).type === 'done')
  await fixture.stop()
  await fixture.restart()
  const recorded = await fixture.events(runId)
  assert.deepEqual(outcomesIn(recorded), [])
  // And again during the verification.
  await until(
    async () =>
      (await fixture.events(runId)).length >= recorded.length && fixture.context.engine?.dispatcher.isRunning(runId),
  )
  await fixture.stop()
  await fixture.restart()
  assert.deepEqual(outcomesIn(await fixture.events(runId)), [])
  const process = (await (await workspace()).processes())[0]
  assert.equal(process?.ending, undefined)
  await (await workspace()).files.write('go', '')
  assert.equal((await fixture.wait(runId)).stopReason, 'end_turn')
  const outcomes = outcomesIn(await fixture.events(runId))
  assert.equal(outcomes.length, 1)
  assert.match(outcomes[0]?.output ?? '', /^ran\n\[process \S+: exit code 0/)
})

test('a command whose sandbox is killed is reported as lost, and does not run again', { skip }, async (context) => {
  const { begin, fixture, workspaces, workspace } = await openTurns(context)
  const runId = await begin({ tool: 'shell', input: { command: 'echo ran >> effects; sleep 1000' } })
  // The shell creates the file before it writes to it.
  await until(async () => {
    const effects = await (await workspace()).files.read('effects')
    return effects.type === 'done' && effects.text !== ''
  })
  const { folder } = (await workspaces.inspect(fixture.conversationId))!
  const { pid } = JSON.parse(readFileSync(join(folder, 'supervisor.json'), 'utf8')) as { pid: number }
  process.kill(pid, 'SIGKILL')
  await fixture.wait(runId)
  const [outcome, ...more] = outcomesIn(await fixture.events(runId))
  assert.deepEqual([outcome?.status, more], ['error', []])
  assert.match(outcome?.output ?? '', /it was lost: the sandbox or the machine stopped while it ran/)
  const effects = await (await workspace()).files.read('effects')
  assert.equal(effects.type === 'done' && effects.text.trim(), 'ran')
})

test('if a workspace is removed during a command, the model gets what is known', { skip }, async (context) => {
  const { begin, fixture, workspaces, workspace } = await openTurns(context)
  const runId = await begin({ tool: 'shell', input: { command: 'touch begun; sleep 1000' } })
  await until(async () => (await (await workspace()).files.read('begun')).type === 'done')
  await workspaces.remove(fixture.conversationId)
  await fixture.wait(runId)
  const [outcome] = outcomesIn(await fixture.events(runId))
  assert.equal(outcome?.status, 'error')
  assert.match(outcome?.output ?? '', /it was ended with everything else in this workspace|was removed/)
})
