import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { missingProgram } from '../harness/programs.ts'
import { assertFault, done, patch } from './fixture-files.ts'
import { openWorkspacesFixture, runCommand } from './fixture-workspaces.ts'
import { killSupervisor } from './kill-supervisor.ts'

const skip = missingProgram('bwrap')

test('files and commands of a workspace see the same folder', { skip }, async (context) => {
  const { files, ...workspace } = await openWorkspacesFixture(context).open()
  assert.equal(done(await files.write('src/a.txt', 'one\ntwo\n')).isNew, true)
  assert.equal((await runCommand({ files, ...workspace }, 'cat /workspace/src/a.txt')).text, 'one\ntwo\n')
  await runCommand({ files, ...workspace }, 'echo three >> src/a.txt; ln -s src link')
  assert.equal(done(await files.read('/workspace/link/a.txt')).text, 'one\ntwo\nthree')
  done(await files.edit('link/a.txt', patch('@@ -2,2 +2,2 @@\n-two\n+2\n three\n')))
  assert.deepEqual(done(await files.search({ pattern: '^2$' })).matches, [{ path: 'src/a.txt', line: 2, text: '2' }])
  assert.equal(
    (await runCommand({ files, ...workspace }, 'stat -c %a:%u src/a.txt; id -u; ls -A src')).text.includes('a.txt'),
    true,
  )
})

test('links and paths out of the workspace are refused, in the sandbox too', { skip }, async (context) => {
  const workspace = await openWorkspacesFixture(context).open()
  await runCommand(workspace, 'ln -s /etc etc; ln -s /spool spool; ln -s /proc/1/environ environ; mkfifo pipe')
  for (const path of [
    '/etc/passwd',
    'etc/passwd',
    'spool/x',
    '/spool/writes',
    'environ',
    '../etc/passwd',
    '/proc/self/environ',
  ])
    assertFault(await workspace.files.read(path), 'outside')
  assertFault(await workspace.files.write('etc/x', 'x'), 'outside')
  assertFault(await workspace.files.read('pipe'), 'not-a-file', /named pipe/)
})

test('a retried edit is not made again, neither by another server nor after the supervisor was killed', {
  skip,
}, async (context) => {
  const fixture = openWorkspacesFixture(context)
  const workspace = await fixture.open()
  const grow = { type: 'replace', find: '|', replace: 'x|', all: false } as const
  done(await workspace.files.write('a.txt', '|', 'key of the write'))
  const first = await workspace.files.edit('a.txt', grow, 'key of the edit')
  const other = await fixture.another().open(workspace.conversationId)
  assert.deepEqual(await other.files.edit('a.txt', grow, 'key of the edit'), first)
  await killSupervisor(join(fixture.folder, workspace.conversationId))
  assert.deepEqual(await workspace.files.edit('a.txt', grow, 'key of the edit'), first)
  const { text, ending } = await runCommand(workspace, 'cat a.txt')
  assert.deepEqual({ text, ending }, { text: 'x|', ending: { type: 'exited', code: 0 } })
})

test('an expression that backtracks forever does not block commands', { skip }, async (context) => {
  const workspace = await openWorkspacesFixture(context).open()
  await workspace.files.write('a.txt', `${'a'.repeat(40)}!\n`)
  // Lookaround needs the built-in walker, which then runs until its deadline.
  const slow = workspace.files.search({ pattern: '^(?=(a+)+$)' })
  assert.equal((await runCommand(workspace, 'echo here')).text, 'here\n')
  slow.catch(() => {})
})

test('file operations stay in the folder, without a sandbox too', async (context) => {
  const fixture = openWorkspacesFixture(context, { sandbox: { containment: 'local' } })
  const workspace = await fixture.open()
  const folder = (await runCommand(workspace, 'pwd')).text.trim()
  done(await workspace.files.write(`${folder}/a/b.txt`, 'here\n'))
  assert.equal(done(await workspace.files.read('a/b.txt')).text, 'here')
  await runCommand(workspace, `ln -s ${fixture.folder} out`)
  for (const path of ['/etc/passwd', '../supervisor.json', 'out', `${fixture.folder}/x`])
    assertFault(await workspace.files.read(path), 'outside')
})
