import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { missingProgram } from '../harness/programs.ts'
import { newCommand, openWorkspacesFixture, runCommand } from './fixture-workspaces.ts'

test('a supervisor that stops answering is replaced, and its processes are lost', {
  skip: missingProgram('bwrap'),
}, async (context) => {
  const fixture = openWorkspacesFixture(context)
  const workspace = await fixture.open()
  const { processId } = await workspace.start(newCommand('sleep 1000', { background: true }))
  await fixture.workspaces.close()
  const { pid } = JSON.parse(readFileSync(join(fixture.folder, workspace.conversationId, 'supervisor.json'), 'utf8'))
  const [supervisor] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').split(' ')
  process.kill(Number(supervisor), 'SIGSTOP')

  const next = await fixture.another().open(workspace.conversationId)
  assert.deepEqual((await next.process(processId))?.ending, { type: 'lost' })
  assert.equal((await runCommand(next, 'echo fine')).text, 'fine\n')
})
