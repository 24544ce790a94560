import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { missingProgram } from '../harness/programs.ts'
import { newCommand, newConversationId, openWorkspacesFixture, runCommand, until } from './fixture-workspaces.ts'

const skip = missingProgram('bwrap')
const SERVER = fileURLToPath(new URL('./survival-server.ts', import.meta.url))
const CANARY = 'canary-of-the-server'

/** Prints everything visible of the processes inside, and every folder that is open in one of them. */
const LOOK = `
cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline | tr '\\0' '\\n' | grep -a "[c]anary"
for one in /proc/[0-9]*/fd/*; do [ -d $one/ ] && echo "folder: $(readlink $one)"; cat $one/precious; done
echo looked`

test('environment, parameters, open files and folders of the server reach no process in the sandbox', {
  skip,
}, async (context) => {
  const fixture = openWorkspacesFixture(context)
  const conversationId = newConversationId()
  const precious = join(fixture.folder, '.outside')
  mkdirSync(precious)
  writeFileSync(join(precious, 'precious'), CANARY)
  const descriptors = [openSync('/', 'r'), openSync(precious, 'r'), openSync(join(precious, 'precious'), 'r')]
  const server = spawn(process.execPath, [SERVER, fixture.folder, conversationId, '[]', CANARY], {
    env: { PATH: process.env.PATH, OPENAI_API_KEY: CANARY, HOLDFAST_SECRET: CANARY },
    stdio: ['ignore', 'pipe', 'inherit', ...descriptors],
  })
  context.after(() => server.kill('SIGKILL'))
  for (const descriptor of descriptors) closeSync(descriptor)
  let text = ''
  server.stdout!.setEncoding('utf8').on('data', (piece) => {
    text += piece
  })
  await until(() => text.includes('ready\n'))
  // The server process has them, so that the test can fail.
  assert.equal(readdirSync(`/proc/${server.pid}/fd`).includes('5'), true)
  const workspace = (await fixture.workspaces.find(conversationId))!
  assert.equal((await runCommand(workspace, `exec 2> /dev/null; ${LOOK}`)).text, 'looked\n')
})

test('no process outlives its workspace, however it detached itself', { skip }, async (context) => {
  const fixture = openWorkspacesFixture(context)
  const workspace = await fixture.open()
  const { conversationId } = workspace
  const stubborn = 'trap "" TERM INT HUP QUIT USR1 USR2; while :; do sleep 0.05; done'
  await runCommand(
    workspace,
    `setsid bash -c '${stubborn}' > /dev/null 2>&1 & disown; (setsid nohup bash -c '${stubborn}' &) > /dev/null 2>&1`,
  )
  await workspace.start(newCommand(`exec env -i setsid /bin/bash -c '${stubborn}'`, { background: true }))
  await workspace.start(newCommand('kill -STOP $$', { background: true }))
  await until(() => processesOf(conversationId).length >= 6)
  assert.equal(await fixture.workspaces.remove(conversationId), true)
  await until(() => processesOf(conversationId).length === 0)
})

/** Finds processes by their mounts, which a process cannot change. */
function processesOf(conversationId: string): string[] {
  return readdirSync('/proc').filter((name) => {
    if (!/^\d+$/.test(name)) return false
    try {
      return readFileSync(`/proc/${name}/mountinfo`, 'latin1').includes(join(conversationId, 'files'))
    } catch {
      return false
    }
  })
}
