import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { CommandRequest, ProcessState } from '../../src/ports/workspaces.ts'
import { WorkspaceError } from '../../src/ports/workspaces.ts'
import { missingProgram } from '../harness/programs.ts'
import { newCommand, newConversationId, openWorkspacesFixture, runCommand, until } from './fixture-workspaces.ts'
import { killSupervisor } from './kill-supervisor.ts'

const skip = missingProgram('bwrap')
const SERVER = fileURLToPath(new URL('./survival-server.ts', import.meta.url))

type Server = { child: ChildProcess; started: ProcessState[]; kill(): Promise<void> }

async function serve(
  context: TestContext,
  folder: string,
  conversationId: string,
  wishes: CommandRequest[],
): Promise<Server> {
  // A descriptor that a service manager, say, left it with.
  const command = ['exec 200</etc/passwd; exec "$@"', 'bash', process.execPath, SERVER, folder, conversationId]
  const child = spawn('bash', ['-c', ...command, JSON.stringify(wishes)], { stdio: ['ignore', 'pipe', 'inherit'] })
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  context.after(() => child.kill('SIGKILL'))
  let text = ''
  child.stdout!.setEncoding('utf8').on('data', (piece) => {
    text += piece
  })
  await until(() => text.includes('ready\n'))
  const started = text.split('\n').filter((line) => line.startsWith('{'))
  return {
    child,
    started: started.map((line) => JSON.parse(line) as ProcessState),
    async kill() {
      child.kill('SIGKILL')
      await gone
    },
  }
}

test('a background process outlives kill -9 of its server; the next one reads its output and its end', {
  skip,
}, async (context) => {
  const house = openWorkspacesFixture(context)
  const conversationId = newConversationId()
  const wish = newCommand('echo before; read word; echo "after $word"; exit 5', { background: true })
  const server = await serve(context, house.folder, conversationId, [wish])
  const { processId } = server.started[0]!
  await server.kill()

  const workspace = (await house.workspaces.find(conversationId))!
  assert.equal((await workspace.process(processId))?.ending, undefined)
  assert.equal((await workspace.start(wish)).processId, processId)
  assert.equal(await workspace.write(processId, { text: 'the kill\n' }), true)
  const state = await workspace.wait(processId, AbortSignal.timeout(10_000))
  assert.deepEqual(state.ending, { type: 'exited', code: 5 })
  assert.equal((await workspace.output(processId, { from: 0, limit: 1000 })).text, 'before\nafter the kill\n')
})

test('one that ended while no server was there is told by its key', { skip }, async (context) => {
  const house = openWorkspacesFixture(context)
  const conversationId = newConversationId()
  const wish = newCommand('until [ -e go ]; do sleep 0.05; done; echo alone; exit 9', { background: true })
  const server = await serve(context, house.folder, conversationId, [wish])
  const { processId } = server.started[0]!
  await server.kill()
  // Nobody is connected: what makes it end comes from outside, as a stroke of time would.
  writeFileSync(join(house.folder, conversationId, 'files', 'go'), '')
  await until(() => existsSync(join(house.folder, conversationId, 'spool', 'processes', processId, 'end.json')))
  const workspace = (await house.another().find(conversationId))!
  assert.deepEqual((await workspace.findByKey(wish.key))?.ending, { type: 'exited', code: 9 })
  assert.equal((await workspace.output(processId, { last: 100 })).text, 'alone\n')
})

test('when the supervisor dies, what ran in it is lost, is not run again, and the terminal is where it was', {
  skip,
}, async (context) => {
  const house = openWorkspacesFixture(context)
  const workspace = await house.open()
  await runCommand(workspace, 'mkdir deep; cd deep; export KEPT=yes')
  const wish = newCommand('echo run >> /workspace/runs; sleep 1000', { background: true })
  const { processId } = await workspace.start(wish)
  await until(async () => (await runCommand(workspace, 'cat /workspace/runs')).text === 'run\n')
  await killSupervisor(join(house.folder, workspace.conversationId))

  const again = await workspace.start(wish)
  assert.deepEqual([again.processId, again.ending], [processId, { type: 'lost' }])
  assert.equal(
    (await runCommand(workspace, 'pwd; echo $KEPT; cat /workspace/runs; pgrep sleep')).text,
    '/workspace/deep\nyes\nrun\n',
  )
})

test('a command that kills its supervisor ends its own workspace, and the next command finds it working', {
  skip,
}, async (context) => {
  const workspace = await openWorkspacesFixture(context).open()
  const { processId } = await workspace.start(newCommand('kill -9 $PPID; sleep 1000', { background: true }))
  const state = await workspace.wait(processId, AbortSignal.timeout(20_000))
  assert.deepEqual(state.ending, { type: 'lost' })
  assert.equal((await runCommand(workspace, 'echo fine')).text, 'fine\n')
})

test('a start that was written down and never ran is lost, not run', { skip }, async (context) => {
  const house = openWorkspacesFixture(context)
  const workspace = await house.open()
  await killSupervisor(join(house.folder, workspace.conversationId))
  const wish = newCommand('echo run >> runs')
  const begun = { ...wish, processId: 'process-0000abcd', startedAt: Date.now() }
  const place = join(house.folder, workspace.conversationId, 'spool', 'processes', begun.processId)
  execFileSync('mkdir', ['-p', place])
  writeFileSync(join(place, 'beginning.json'), JSON.stringify(begun))
  assert.deepEqual((await workspace.start(wish)).ending, { type: 'lost' })
  assert.equal((await runCommand(workspace, 'ls')).text, '')
})

test('two servers that start one workspace at once end with one supervisor', { skip }, async (context) => {
  const house = openWorkspacesFixture(context)
  const conversationId = newConversationId()
  const servers = await Promise.all([
    serve(context, house.folder, conversationId, [newCommand('echo one; sleep 1000', { background: true })]),
    serve(context, house.folder, conversationId, [newCommand('echo two; sleep 1000', { background: true })]),
    house.workspaces.open(conversationId),
    house.workspaces.open(conversationId),
  ])
  const workspace = servers[2]
  const states = await workspace.processes()
  assert.deepEqual(
    states.map((state) => state.ending),
    [undefined, undefined],
  )
  assert.equal(supervisorsOf(conversationId), 1)
})

test('a workspace that is removed while it is opened is gone or new, never half', { skip }, async (context) => {
  const house = openWorkspacesFixture(context)
  const other = house.another()
  const conversationId = newConversationId()
  for (let round = 0; round < 6; round++) {
    await runCommand(await house.workspaces.open(conversationId), 'echo old > file')
    const opened = other.open(conversationId).then(
      async (workspace) => runCommand(workspace, 'ls; echo .'),
      (fault) => fault as WorkspaceError,
    )
    const [told, removed] = await Promise.all([
      opened.catch((fault) => fault as WorkspaceError),
      house.workspaces.remove(conversationId),
    ])
    assert.equal(removed, true)
    if (told instanceof Error) assert.ok(told instanceof WorkspaceError && told.fault === 'gone', String(told))
    else if (told.ending?.type === 'exited') assert.match(told.text, /^(file\n)?\.\n$/)
    else assert.match(told.ending!.type, /killed|lost/)
    assert.equal(
      readdirSync(house.folder).some((name) => name.startsWith('.removing')),
      false,
    )
  }
})

test('a workspace without anything to do goes to sleep and wakes with all it had', { skip }, async (context) => {
  const house = openWorkspacesFixture(context, { sleepAfterMs: 1_000 })
  const conversationId = newConversationId()
  const workspace = await house.workspaces.open(conversationId)
  const { processId } = await workspace.start(newCommand('sleep 1000', { background: true }))
  const { state } = await runCommand(workspace, 'echo kept; export WORD=kept')
  await house.workspaces.close()
  const busy = house.another()
  const found = (await busy.find(conversationId))!
  assert.equal((await found.process(processId))?.ending, undefined)
  await found.kill(processId, 'asked')
  await busy.close()
  await until(() => supervisorsOf(conversationId) === 0)

  const later = house.another()
  assert.equal((await later.inspect(conversationId))?.status, 'asleep')
  await until(() => supervisorsOf(conversationId) === 0)
  const woken = (await later.find(conversationId))!
  assert.equal((await woken.output(state.processId, { last: 100 })).text, 'kept\n')
  assert.equal((await runCommand(woken, 'echo $WORD')).text, 'kept\n')
  await later.remove(conversationId)
})

test('a process that got the number of a dead supervisor is left alone', { skip }, async (context) => {
  const house = openWorkspacesFixture(context)
  const workspace = await house.open()
  const stranger = spawn('sleep', ['1000'])
  context.after(() => stranger.kill('SIGKILL'))
  const file = join(house.folder, workspace.conversationId, 'supervisor.json')
  const keeper = JSON.parse(readFileSync(file, 'utf8'))
  await killSupervisor(join(house.folder, workspace.conversationId))
  writeFileSync(file, JSON.stringify({ ...keeper, pid: stranger.pid }))
  assert.equal((await runCommand(workspace, 'echo fine')).text, 'fine\n')
  assert.equal(stranger.exitCode ?? stranger.signalCode, null)
  assert.notEqual(firstProcess(house.folder, workspace.conversationId), stranger.pid)
})

test('descriptors the server was started with reach nobody in the sandbox', { skip }, async (context) => {
  const house = openWorkspacesFixture(context)
  const conversationId = newConversationId()
  await serve(context, house.folder, conversationId, [])
  const { text } = await runCommand(await house.workspaces.open(conversationId), 'ls -l /proc/self/fd /proc/[0-9]*/fd')
  assert.match(text, /socket/)
  assert.ok(!text.includes('passwd') && !/ 200 ->/.test(text), text)
})

function firstProcess(folder: string, conversationId: string): number {
  return JSON.parse(readFileSync(join(folder, conversationId, 'supervisor.json'), 'utf8')).pid
}

/** First processes of sandboxes that have this workspace for their own, whoever started them. */
function supervisorsOf(conversationId: string): number {
  const place = join(conversationId, 'files')
  return readdirSync('/proc').filter((name) => {
    if (!/^\d+$/.test(name)) return false
    try {
      const isShell = readFileSync(`/proc/${name}/cmdline`, 'latin1').startsWith('/bin/sh\0-c\0ulimit')
      return isShell && readFileSync(`/proc/${name}/mountinfo`, 'latin1').includes(place)
    } catch {
      return false
    }
  }).length
}
