import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { newCommand, newConversationId, openWorkspacesFixture, runCommand, until } from './fixture-workspaces.ts'
import { isRunning } from './kill-supervisor.ts'

const LOCAL = { sandbox: { containment: 'local' as const } }

test('without a sandbox commands run in the same folder, with the same terminal and without the secrets of the server', async (context) => {
  process.env.CANARY_KEY = 'sk-canary-4711'
  context.after(() => {
    delete process.env.CANARY_KEY
  })
  const house = openWorkspacesFixture(context, LOCAL)
  const workspace = await house.open()
  const files = join(house.folder, workspace.conversationId, 'files')
  assert.equal(
    (await runCommand(workspace, 'mkdir place; cd place; export WORD=yes; pwd; env | grep -i canary')).text,
    `${files}/place\n`,
  )
  assert.equal((await runCommand(workspace, 'pwd; echo $WORD')).text, `${files}/place\nyes\n`)
  assert.equal((await house.workspaces.inspect(workspace.conversationId))?.containment, 'local')
})

test('without a sandbox killing and removing take along what detached itself, and nothing else of the machine', async (context) => {
  const house = openWorkspacesFixture(context, LOCAL)
  const workspace = await house.open()
  const neighbor = await (await house.open()).start(newCommand('sleep 1000', { background: true }))
  const wish = newCommand('setsid sleep 1001 & setsid sleep 1002 & echo $(jobs -p); wait', { background: true })
  const { processId } = await workspace.start(wish)
  const text = await until(async () => (await workspace.output(processId, { last: 100 })).text.trim() || undefined)
  const pids = text.split(' ').map(Number)
  assert.equal(pids.filter(isRunning).length, 2)
  assert.equal((await workspace.kill(processId, 'asked')).ending?.type, 'killed')
  assert.deepEqual(pids.filter(isRunning), [])

  const left = await runCommand(workspace, 'setsid sleep 1003 > /dev/null 2>&1 & echo $!')
  assert.equal(isRunning(Number(left.text)), true)
  await house.workspaces.remove(workspace.conversationId)
  await until(() => !isRunning(Number(left.text)))
  const [other] = await house.workspaces.list()
  const state = await (await house.workspaces.find(other!))!.process(neighbor.processId)
  assert.equal(state?.ending, undefined)
})

test('without a sandbox what a supervisor left when it died is ended by the next one', async (context) => {
  const house = openWorkspacesFixture(context, LOCAL)
  const conversationId = newConversationId()
  const workspace = await house.workspaces.open(conversationId)
  const { processId } = await workspace.start(newCommand('echo $$; exec sleep 1000', { background: true }))
  const pid = await until(async () => Number((await workspace.output(processId, { last: 100 })).text) || undefined)
  const keeper = JSON.parse(readFileSync(join(house.folder, conversationId, 'supervisor.json'), 'utf8')) as {
    pid: number
  }
  process.kill(keeper.pid, 'SIGKILL')
  const state = await workspace.wait(processId, AbortSignal.timeout(20_000))
  assert.deepEqual(state.ending, { type: 'lost' })
  await until(() => !isRunning(pid))
})
