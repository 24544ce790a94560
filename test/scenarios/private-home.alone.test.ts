import assert from 'node:assert/strict'
import { chmodSync, lstatSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { isInsideWorkspace } from '../../src/core/home-files.ts'
import { findExposed } from '../../src/disk/exposed-entries.ts'
import { writeServerNote } from '../../src/disk/server-file.ts'
import { serveHome } from '../../src/http/serve-home.ts'
import { copyDatabase } from '../../src/storage/copy-database.ts'
import { missingProgram } from '../harness/programs.ts'
import { openWorkspaceApp } from '../workspaces/fixture-workspace-app.ts'

for (const umask of [0o000, 0o022, 0o077])
  test(`after a busy life under the umask ${umask.toString(8).padStart(3, '0')} only the owner can use any file of the home`, {
    skip: missingProgram('bwrap'),
  }, async (context) => {
    const former = process.umask(umask)
    context.after(() => process.umask(former))
    const opened = await openWorkspaceApp(context)
    const { home, app } = opened
    const apart = mkdtempSync(join(tmpdir(), 'holdfast-private-'))
    context.after(() => rmSync(apart, { recursive: true }))

    const server = await serveHome({
      context: app.context,
      home,
      host: '127.0.0.1',
      port: 0,
      version: '0',
      report: () => {},
    })
    context.after(() => server.close())
    writeServerNote(home, { url: server.url, pid: process.pid, started: '' })
    await opened.call({ tool: 'shell', input: { command: 'seq 100000; sleep 1000 & echo made > file' } })
    await app.context.deps.spill.of('agent-1').save('call-1', 'long')
    const { secretKeys } = app.context
    secretKeys.box.seal('secret', 'context')
    secretKeys.addKey()
    const archive = join(apart, 'backup.tgz')
    await app.context.backups.write({
      file: archive,
      version: '0',
      replace: false,
      withSecretKey: true,
      withWorkspaces: true,
    })
    const copy = join(apart, 'copy.db')
    await copyDatabase(join(home, 'holdfast.db'), copy)

    const entries = [home, archive, copy].flatMap(walk)
    const names = entries.map((path) => path.slice(home.length + 1))
    for (const name of [
      'holdfast.db-wal',
      'holdfast.db-shm',
      'chunks.db',
      'owner.lock',
      'api-key',
      'secret.key',
      'secret.key.lock',
    ])
      assert.ok(names.includes(name), `${name} of ${names}`)
    for (const kind of [
      /^spill\/./,
      /supervisor\.sock$/,
      /supervisor\.json$/,
      /workspaces\/\.locks\/./,
      /workspaces\/\.etc\/./,
    ])
      assert.ok(
        names.some((name) => kind.test(name)),
        `${kind}`,
      )
    const modes = entries.map((path) => [path, lstatSync(path)] as const)
    const wide = modes.filter(([, { mode }]) => (mode & 0o077) !== 0)
    assert.deepEqual(
      wide.map(([path, { mode }]) => `${path} ${(mode & 0o777).toString(8)}`),
      [],
    )
    assert.deepEqual(findExposed(home, isInsideWorkspace), [])
    // The search does find one.
    chmodSync(join(home, 'spill/agent-1/call-1.txt'), 0o644)
    assert.deepEqual(
      findExposed(home, isInsideWorkspace).map(({ why }) => why),
      ['has the mode 644; run chmod go-rwx on it'],
    )
  })

/** What an agent makes has the modes that its commands choose; the folder above keeps others out. */
function walk(path: string): string[] {
  if (/\/workspaces\/[^/]+\/(files|spool)\/./.test(path)) return []
  const inside = lstatSync(path).isDirectory() ? readdirSync(path) : []
  return [path, ...inside.flatMap((name) => walk(join(path, name)))]
}
