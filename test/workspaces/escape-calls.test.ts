import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { missingProgram } from '../harness/programs.ts'
import { openWorkspacesFixture, runCommand } from './fixture-workspaces.ts'

const isX64 = process.arch === 'x64' ? false : `there are no other system call ABIs on ${process.arch}`

test('the seccomp filter covers every way to make a system call', {
  skip: isX64 || missingProgram('bwrap') || missingProgram('gcc'),
}, async (context) => {
  const fixture = openWorkspacesFixture(context)
  const workspace = await fixture.open()
  const program = join(fixture.folder, workspace.conversationId, 'files', 'doors')
  execFileSync('gcc', ['-o', program, fileURLToPath(new URL('./escapes/other-doors.c', import.meta.url))])
  const { text, ending } = await runCommand(workspace, './doors; echo tried')
  assert.deepEqual([text, ending], ['tried\n', { type: 'exited', code: 0 }])
})
