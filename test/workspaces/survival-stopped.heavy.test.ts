import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { missingProgram } from '../harness/programs.ts'
import { newCommand, openWorkspacesFixture, runCommand } from './fixture-workspaces.ts'

test('a supervisor that does not answer any more is replaced, and what ran in it is lost', {
  skip: missingProgram('bwrap'),
}, async (context) => {
  const house = openWorkspacesFixture(context)
  const workspace = await house.open()
  const { processId } = await workspace.start(newCommand('sleep 1000', { background: true }))
  await house.workspaces.close()
  const { pid } = JSON.parse(readFileSync(join(house.folder, workspace.conversationId, 'supervisor.json'), 'utf8'))
  const [supervisor] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').split(' ')
  process.kill(Number(supervisor), 'SIGSTOP')

  const next = await house.another().open(workspace.conversationId)
  assert.deepEqual((await next.process(processId))?.ending, { type: 'lost' })
  assert.equal((await runCommand(next, 'echo fine')).text, 'fine\n')
})
