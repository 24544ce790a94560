import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { lacks } from '../harness/programs.ts'
import { openWorkspaceHouse, tell } from './house.ts'

const isX64 = process.arch === 'x64' ? false : `there are no such doors on ${process.arch}`

test('system calls have one door, and the filter stands at it', {
  skip: isX64 || lacks('bwrap') || lacks('gcc'),
}, async (context) => {
  const house = openWorkspaceHouse(context)
  const workspace = await house.open()
  const program = join(house.folder, workspace.conversationId, 'files', 'doors')
  execFileSync('gcc', ['-o', program, fileURLToPath(new URL('./escapes/other-doors.c', import.meta.url))])
  const { text, ending } = await tell(workspace, './doors; echo tried')
  assert.deepEqual([text, ending], ['tried\n', { type: 'exited', code: 0 }])
})
