import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { newCommand, newConversationId, openWorkspacesFixture, runCommand, until } from './fixture-workspaces.ts'
import { isRunning } from './kill-supervisor.ts'

const LOCAL = { sandbox: { containment: 'local' as const } }

test('without a sandbox commands share the folder and the terminal, and do not see the secrets of the server', async (context) => {
  process.env.CANARY_KEY = 'sk-canary-4711'
  context.after(() => {
    delete process.env.CANARY_KEY
  })
  const fixture = openWorkspacesFixture(context, LOCAL)
  const workspace = await fixture.open()
  const files = join(fixture.folder, workspace.conversationId, 'files')
  assert.equal(
    (await runCommand(workspace, 'mkdir place; cd place; export WORD=yes; pwd; env | grep -i canary')).text,
    `${files}/place\n`,
  )
  assert.equal((await runCommand(workspace, 'pwd; echo $WORD')).text, `${files}/place\nyes\n`)
  assert.equal((await fixture.workspaces.inspect(workspace.conversationId))?.containment, 'local')
})

test('without a sandbox killing and removing end detached processes too, and no others of the machine', async (context) => {
  const fixture = openWorkspacesFixture(context, LOCAL)
  const workspace = await fixture.open()
  const neighbor = await (await fixture.open()).start(newCommand('sleep 1000', { background: true }))
  const request = newCommand('setsid sleep 1001 & setsid sleep 1002 & echo $(jobs -p); wait', { background: true })
  const { processId } = await workspace.start(request)
  const text = await until(async () => (await workspace.output(processId, { last: 100 })).text.trim() || undefined)
  const pids = text.split(' ').map(Number)
  assert.equal(pids.filter(isRunning).length, 2)
  assert.equal((await workspace.kill(processId, 'asked')).ending?.type, 'killed')
  assert.deepEqual(pids.filter(isRunning), [])

  const left = await runCommand(workspace, 'setsid sleep 1003 > /dev/null 2>&1 & echo $!')
  assert.equal(isRunning(Number(left.text)), true)
  await fixture.workspaces.remove(workspace.conversationId)
  await until(() => !isRunning(Number(left.text)))
  const [other] = await fixture.workspaces.list()
  const state = await (await fixture.workspaces.find(other!))!.process(neighbor.processId)
  assert.equal(state?.ending, undefined)
})

test('without a sandbox the next supervisor ends processes that a dead one left', async (context) => {
  const fixture = openWorkspacesFixture(context, LOCAL)
  const conversationId = newConversationId()
  const workspace = await fixture.workspaces.open(conversationId)
  const { processId } = await workspace.start(newCommand('echo $$; exec sleep 1000', { background: true }))
  const pid = await until(async () => Number((await workspace.output(processId, { last: 100 })).text) || undefined)
  const keeper = JSON.parse(readFileSync(join(fixture.folder, conversationId, 'supervisor.json'), 'utf8')) as {
    pid: number
  }
  process.kill(keeper.pid, 'SIGKILL')
  const state = await workspace.wait(processId, AbortSignal.timeout(20_000))
  assert.deepEqual(state.ending, { type: 'lost' })
  await until(() => !isRunning(pid))
})
