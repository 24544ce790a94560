import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { missingProgram } from '../harness/programs.ts'
import { openWorkspacesFixture, runCommand } from './fixture-workspaces.ts'

const isX64 = process.arch === 'x64' ? false : `there are no such doors on ${process.arch}`

test('system calls have one door, and the filter stands at it', {
  skip: isX64 || missingProgram('bwrap') || missingProgram('gcc'),
}, async (context) => {
  const house = openWorkspacesFixture(context)
  const workspace = await house.open()
  const program = join(house.folder, workspace.conversationId, 'files', 'doors')
  execFileSync('gcc', ['-o', program, fileURLToPath(new URL('./escapes/other-doors.c', import.meta.url))])
  const { text, ending } = await runCommand(workspace, './doors; echo tried')
  assert.deepEqual([text, ending], ['tried\n', { type: 'exited', code: 0 }])
})
