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
  commands: CommandRequest[],
): Promise<Server> {
  // A descriptor as inherited from a service manager.
  const command = ['exec 200</etc/passwd; exec "$@"', 'bash', process.execPath, SERVER, folder, conversationId]
  const child = spawn('bash', ['-c', ...command, JSON.stringify(commands)], { stdio: ['ignore', 'pipe', 'inherit'] })
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

test('a background process outlives kill -9 of its server; the next server reads its output and ending', {
  skip,
}, async (context) => {
  const fixture = openWorkspacesFixture(context)
  const conversationId = newConversationId()
  const request = newCommand('echo before; read word; echo "after $word"; exit 5', { background: true })
  const server = await serve(context, fixture.folder, conversationId, [request])
  const { processId } = server.started[0]!
  await server.kill()

  const workspace = (await fixture.workspaces.find(conversationId))!
  assert.equal((await workspace.process(processId))?.ending, undefined)
  assert.equal((await workspace.start(request)).processId, processId)
  assert.equal(await workspace.write(processId, { text: 'the kill\n' }), true)
  const state = await workspace.wait(processId, AbortSignal.timeout(10_000))
  assert.deepEqual(state.ending, { type: 'exited', code: 5 })
  assert.equal((await workspace.output(processId, { from: 0, limit: 1000 })).text, 'before\nafter the kill\n')
})

test('a process that ended while no server ran is found by its key', { skip }, async (context) => {
  const fixture = openWorkspacesFixture(context)
  const conversationId = newConversationId()
  const request = newCommand('until [ -e go ]; do sleep 0.05; done; echo alone; exit 9', { background: true })
  const server = await serve(context, fixture.folder, conversationId, [request])
  const { processId } = server.started[0]!
  await server.kill()
  // No server is connected: the process ends because of a file, not because of a request.
  writeFileSync(join(fixture.folder, conversationId, 'files', 'go'), '')
  await until(() => existsSync(join(fixture.folder, conversationId, 'spool', 'processes', processId, 'end.json')))
  const workspace = (await fixture.another().find(conversationId))!
  assert.deepEqual((await workspace.findByKey(request.key))?.ending, { type: 'exited', code: 9 })
  assert.equal((await workspace.output(processId, { last: 100 })).text, 'alone\n')
})

test('when the supervisor dies, its processes are lost and do not run again, and the terminal keeps its state', {
  skip,
}, async (context) => {
  const fixture = openWorkspacesFixture(context)
  const workspace = await fixture.open()
  await runCommand(workspace, 'mkdir deep; cd deep; export KEPT=yes')
  const request = newCommand('echo run >> /workspace/runs; sleep 1000', { background: true })
  const { processId } = await workspace.start(request)
  await until(async () => (await runCommand(workspace, 'cat /workspace/runs')).text === 'run\n')
  await killSupervisor(join(fixture.folder, workspace.conversationId))

  const again = await workspace.start(request)
  assert.deepEqual([again.processId, again.ending], [processId, { type: 'lost' }])
  assert.equal(
    (await runCommand(workspace, 'pwd; echo $KEPT; cat /workspace/runs; pgrep sleep')).text,
    '/workspace/deep\nyes\nrun\n',
  )
})

test('a command that kills its supervisor ends its own workspace, and the next command works', {
  skip,
}, async (context) => {
  const workspace = await openWorkspacesFixture(context).open()
  const { processId } = await workspace.start(newCommand('kill -9 $PPID; sleep 1000', { background: true }))
  const state = await workspace.wait(processId, AbortSignal.timeout(20_000))
  assert.deepEqual(state.ending, { type: 'lost' })
  assert.equal((await runCommand(workspace, 'echo fine')).text, 'fine\n')
})

test('a command that was recorded but never ran is lost, and does not run', { skip }, async (context) => {
  const fixture = openWorkspacesFixture(context)
  const workspace = await fixture.open()
  await killSupervisor(join(fixture.folder, workspace.conversationId))
  const request = newCommand('echo run >> runs')
  const record = { ...request, processId: 'process-0000abcd', startedAt: Date.now() }
  const place = join(fixture.folder, workspace.conversationId, 'spool', 'processes', record.processId)
  execFileSync('mkdir', ['-p', place])
  writeFileSync(join(place, 'beginning.json'), JSON.stringify(record))
  assert.deepEqual((await workspace.start(request)).ending, { type: 'lost' })
  assert.equal((await runCommand(workspace, 'ls')).text, '')
})

test('two servers that start one workspace at once share one supervisor', { skip }, async (context) => {
  const fixture = openWorkspacesFixture(context)
  const conversationId = newConversationId()
  const servers = await Promise.all([
    serve(context, fixture.folder, conversationId, [newCommand('echo one; sleep 1000', { background: true })]),
    serve(context, fixture.folder, conversationId, [newCommand('echo two; sleep 1000', { background: true })]),
    fixture.workspaces.open(conversationId),
    fixture.workspaces.open(conversationId),
  ])
  const workspace = servers[2]
  const states = await workspace.processes()
  assert.deepEqual(
    states.map((state) => state.ending),
    [undefined, undefined],
  )
  assert.equal(supervisorsOf(conversationId), 1)
})

test('a workspace that is removed while it is opened is gone or new, never partial', { skip }, async (context) => {
  const fixture = openWorkspacesFixture(context)
  const other = fixture.another()
  const conversationId = newConversationId()
  for (let round = 0; round < 6; round++) {
    await runCommand(await fixture.workspaces.open(conversationId), 'echo old > file')
    const opened = other.open(conversationId).then(
      async (workspace) => runCommand(workspace, 'ls; echo .'),
      (fault) => fault as WorkspaceError,
    )
    const [result, removed] = await Promise.all([
      opened.catch((fault) => fault as WorkspaceError),
      fixture.workspaces.remove(conversationId),
    ])
    assert.equal(removed, true)
    if (result instanceof Error) assert.ok(result instanceof WorkspaceError && result.fault === 'gone', String(result))
    else if (result.ending?.type === 'exited') assert.match(result.text, /^(file\n)?\.\n$/)
    else assert.match(result.ending!.type, /killed|lost/)
    assert.equal(
      readdirSync(fixture.folder).some((name) => name.startsWith('.removing')),
      false,
    )
  }
})

test('an idle workspace goes to sleep and wakes with its state', { skip }, async (context) => {
  const fixture = openWorkspacesFixture(context, { sleepAfterMs: 1_000 })
  const conversationId = newConversationId()
  const workspace = await fixture.workspaces.open(conversationId)
  const { processId } = await workspace.start(newCommand('sleep 1000', { background: true }))
  const { state } = await runCommand(workspace, 'echo kept; export WORD=kept')
  await fixture.workspaces.close()
  const busy = fixture.another()
  const found = (await busy.find(conversationId))!
  assert.equal((await found.process(processId))?.ending, undefined)
  await found.kill(processId, 'asked')
  await busy.close()
  await until(() => supervisorsOf(conversationId) === 0)

  const later = fixture.another()
  assert.equal((await later.inspect(conversationId))?.status, 'asleep')
  await until(() => supervisorsOf(conversationId) === 0)
  const woken = (await later.find(conversationId))!
  assert.equal((await woken.output(state.processId, { last: 100 })).text, 'kept\n')
  assert.equal((await runCommand(woken, 'echo $WORD')).text, 'kept\n')
  await later.remove(conversationId)
})

test('a process that reuses the pid of a dead supervisor is not killed', { skip }, async (context) => {
  const fixture = openWorkspacesFixture(context)
  const workspace = await fixture.open()
  const stranger = spawn('sleep', ['1000'])
  context.after(() => stranger.kill('SIGKILL'))
  const file = join(fixture.folder, workspace.conversationId, 'supervisor.json')
  const keeper = JSON.parse(readFileSync(file, 'utf8'))
  await killSupervisor(join(fixture.folder, workspace.conversationId))
  writeFileSync(file, JSON.stringify({ ...keeper, pid: stranger.pid }))
  assert.equal((await runCommand(workspace, 'echo fine')).text, 'fine\n')
  assert.equal(stranger.exitCode ?? stranger.signalCode, null)
  assert.notEqual(firstProcess(fixture.folder, workspace.conversationId), stranger.pid)
})

test('descriptors that the server inherited reach no process in the sandbox', { skip }, async (context) => {
  const fixture = openWorkspacesFixture(context)
  const conversationId = newConversationId()
  await serve(context, fixture.folder, conversationId, [])
  const { text } = await runCommand(
    await fixture.workspaces.open(conversationId),
    'ls -l /proc/self/fd /proc/[0-9]*/fd',
  )
  assert.match(text, /socket/)
  assert.ok(!text.includes('passwd') && !/ 200 ->/.test(text), text)
})

function firstProcess(folder: string, conversationId: string): number {
  return JSON.parse(readFileSync(join(folder, conversationId, 'supervisor.json'), 'utf8')).pid
}

/** First processes of all sandboxes of this workspace. */
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
