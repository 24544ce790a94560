import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { holdfast, newHome, startHoldfast, startServing } from '../cli/holdfast.ts'
import { missingProgram } from '../harness/programs.ts'
import { openWorkspacesFixture } from './fixture-workspaces.ts'

const skip = missingProgram('bwrap')

/** A home whose workspaces are removed before it. */
function homeOf(context: TestContext): string {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-cli-'))
  openWorkspacesFixture(context, { folder: join(home, 'workspaces') })
  context.after(() => rmSync(home, { recursive: true, force: true }))
  return home
}

type Shown = { conversation_id: string; status: string; folder: string; processes: { id: string; ending: unknown }[] }

const jsonOf = async <T>(args: string[], home: string): Promise<T> => {
  const { code, stdout, stderr } = await holdfast([...args, '--json'], { home })
  assert.equal(code, 0, stderr)
  return JSON.parse(stdout)
}

// Each test has its own home and mostly waits for the model's simulated typing.
describe('holdfast workspaces', { concurrency: 3 }, () => {
  test('an agent writes and serves a page; after the server is killed, the page is still served', {
    skip,
    timeout: 100_000,
  }, async (t) => {
    const home = homeOf(t)
    const first = await startServing(home)
    const chat = startHoldfast(['chat'], { home })
    await chat.waitForText('write a small web page and serve it')
    chat.type('write a small web page and serve it\n')
    await chat.waitForText('It runs, and it answers.')
    await chat.waitForText('Hello from a workspace')
    first.child.kill('SIGKILL')
    await first.ended
    const second = await startServing(home)
    chat.type('is it still running\n')
    await chat.waitForText('It is still running.')
    chat.type('visit it\n')
    await chat.waitForText('It answers.')
    chat.type('show its log\n')
    await chat.waitForText('including the time between our messages')

    const [workspace]: Shown[] = await jsonOf(['workspaces'], home)
    assert.equal(workspace!.status, 'awake')
    const running = workspace!.processes.filter(({ ending }) => ending === null)
    assert.equal(running.length, 1)
    const logs = await holdfast(['workspaces', 'logs', 'assistant', running[0]!.id], { home })
    assert.match(logs.stdout, /^listening on port \d+\n/)
    assert.equal(logs.stdout.match(/GET \//g)?.length, 2, 'one visit on each side of the kill')
    assert.match(logs.stderr, /still running/)

    const shown = await holdfast(['workspaces', 'show', 'assistant'], { home })
    assert.match(shown.stdout, new RegExp(`ports +\\d+ \\(${running[0]!.id}\\)`))
    const open = startHoldfast(['workspaces', 'open', 'assistant', '--minutes', '5'], { home })
    await open.waitForText('Ctrl-C closes the page.')
    open.child.kill('SIGINT')
    const opened = await open.ended
    assert.equal(opened.code, 0, opened.stderr)
    assert.match(opened.stdout, /^http:\/\/127\.0\.0\.1:\d+\/open\/[0-9a-f]{32}\n$/)
    assert.equal((await fetch(opened.stdout.trim())).status, 404, 'the page ended with its command')

    chat.type('stop it\n')
    await chat.waitForText('It has ended.')
    chat.child.stdin.end()
    const { code, stdout, stderr } = await chat.ended
    assert.equal(code, 0, stderr)
    assert.match(stdout, /connected to the server at/)
    assert.match(
      (await holdfast(['workspaces', 'show', 'assistant'], { home })).stdout,
      /in a sandbox.*node page\/server/s,
    )
    second.child.kill('SIGTERM')
    await second.ended
  })

  test('an agent that watches a process is woken when it ends, and the chat shows the output', {
    skip,
    timeout: 100_000,
  }, async (t) => {
    const home = homeOf(t)
    const chat = startHoldfast(['chat'], { home })
    chat.type('run sleep 1; echo done in the background\n')
    await chat.waitForText('It has started.')
    const isWoken = async () => (await jsonOf<{ status: string }[]>(['runs'], home))[1]?.status === 'completed'
    while (!(await isWoken())) await new Promise((resolve) => setTimeout(resolve, 100))
    chat.type('\n')
    await chat.waitForText('Since your last message (run-')
    await chat.waitForText('has ended (exit code 0).')
    chat.child.stdin.end()
    const { stdout, code } = await chat.ended
    assert.equal(code, 0)
    assert.equal(stdout.match(/I was woken/g)?.length, 1)
  })

  test('list, show, logs, kill and remove do the same with and without a server', {
    skip,
    timeout: 100_000,
  }, async (t) => {
    const home = homeOf(t)
    assert.match((await holdfast(['workspaces'], { home })).stdout, /No workspaces yet/)
    const ran = await holdfast(['run', 'run echo hello; echo "and more"'], { home })
    assert.equal(ran.code, 0, ran.stderr)
    assert.match(ran.stderr, /hello\n.*and more/s)
    const [workspace]: Shown[] = await jsonOf(['workspaces', 'list'], home)
    const { id } = workspace!.processes[0]!
    const commands = [
      ['logs', workspace!.conversation_id, id],
      ['logs', 'assistant', id, '--last', '5'],
      ['kill', 'assistant', id],
      ['kill', 'assistant', 'nonsense'],
      ['remove', 'assistant'],
      ['show', 'nobody'],
    ]
    const all = () => Promise.all(commands.map((words) => holdfast(['workspaces', ...words], { home })))
    const without = await all()
    const server = await startServing(home)
    const through = await all()
    assert.deepEqual(through, without)
    const [logs, end, killed, stranger, unconfirmed, nobody] = without
    assert.deepEqual([logs!.code, logs!.stdout, logs!.stderr], [0, 'hello\nand more\n', '(exited with 0)\n'])
    assert.equal(end!.stdout, 'more\n')
    assert.deepEqual([killed!.code, killed!.stdout], [0, `${id}: exited with 0.\n`], 'what has ended stays as it is')
    assert.match(stranger!.stderr, /There is no process "nonsense"/)
    assert.match(
      unconfirmed!.stderr,
      /Confirmation needs a terminal\. This deletes its files\. Add --yes to remove the workspace of assistant/,
    )
    assert.deepEqual([stranger!.code, unconfirmed!.code, nobody!.code], [3, 2, 3])
    assert.ok(existsSync(workspace!.folder))

    const removed = await holdfast(['workspaces', 'remove', 'assistant', '--yes'], { home })
    assert.match(removed.stdout, /Removed the workspace of assistant/)
    assert.ok(!existsSync(workspace!.folder))
    server.child.kill('SIGTERM')
    await server.ended
    const again = await holdfast(['workspaces', 'remove', 'assistant', '--yes'], { home })
    assert.deepEqual([again.code, /has no workspace/.test(again.stderr)], [3, true])
    const audit: { verb: string }[] = await jsonOf(['audit'], home)
    assert.equal(audit.filter(({ verb }) => verb === 'workspace.remove').length, 1)
  })

  test('without bubblewrap the doctor, the server and the chat say what to install', {
    timeout: 60_000,
  }, async (t) => {
    const home = newHome(t)
    const path = pathWithout('bwrap', home)
    const place = { home, environment: { PATH: path } }
    const chat = await holdfast(['chat'], { ...place, input: 'write a small web page and serve it\nrun uname -a\n' })
    assert.equal(chat.code, 0, chat.stderr)
    assert.match(chat.stdout, /That did not work\..*bubblewrap/s)
    assert.ok(!chat.stdout.includes('Linux'), 'nothing ran')
    const doctor = await holdfast(['doctor'], place)
    assert.deepEqual([doctor.code, doctor.stderr], [0, ''])
    assert.match(doctor.stdout, /! Workspaces are not available: .*bubblewrap/)
    const server = await startServing(home, { PATH: path })
    await server.waitForText('Sandbox')
    server.child.kill('SIGTERM')
    assert.match((await server.ended).stdout, /Sandbox none: .*bubblewrap/)
  })

  test('the doctor and the server report a working sandbox', { skip, timeout: 60_000 }, async (t) => {
    const home = newHome(t)
    const doctor = await holdfast(['doctor'], { home })
    assert.match(doctor.stdout, /✓ Workspaces have a sandbox: bubblewrap works/)
    const server = await startServing(home)
    server.child.kill('SIGTERM')
    assert.match((await server.ended).stdout, /Sandbox bubblewrap works/)
  })
})

/** A PATH with what a shell needs but without one program, as if that were not installed. */
function pathWithout(program: string, home: string): string {
  const bin = join(home, 'bin')
  mkdirSync(bin)
  for (const name of ['sh', 'bash', 'env', 'ls', 'rm', 'chmod', 'nice'].filter((one) => one !== program))
    for (const folder of ['/usr/bin', '/bin'])
      if (existsSync(join(folder, name)) && !existsSync(join(bin, name)))
        symlinkSync(join(folder, name), join(bin, name))
  return `${bin}:${dirname(process.execPath)}`
}
