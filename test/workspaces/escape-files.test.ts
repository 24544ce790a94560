import assert from 'node:assert/strict'
import { readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { FileAnswer, WorkspaceFiles } from '../../src/ports/workspace-files.ts'
import type { Containment } from '../../src/ports/workspaces.ts'
import { missingProgram } from '../harness/programs.ts'
import { plantOutside } from './escapes/outside.ts'
import { newCommand } from './fixture-workspaces.ts'

type Operation = (files: WorkspaceFiles, path: string) => Promise<FileAnswer<object>>

const OPERATIONS: Record<string, Operation> = {
  read: (files, path) => files.read(path),
  write: (files, path) => files.write(path, 'overwritten'),
  edit: (files, path) => files.edit(path, { type: 'replace', find: 'canary', replace: 'sparrow', all: true }),
  search: (files, path) => files.search({ pattern: 'canary|root|nobody', path }),
}

const CONTAINMENTS: Record<Containment, string | false> = { bubblewrap: missingProgram('bwrap'), local: false }

for (const [containment, skip] of Object.entries(CONTAINMENTS) as [Containment, string | false][]) {
  test(`no file operation leaves the folder, by any path or link (${containment})`, {
    skip,
  }, async (context) => {
    const { files, secret, folder } = await withSecret(context, containment)
    const links: Record<string, string> = {
      link: secret,
      'link-up': '../'.repeat(12) + secret.slice(1),
      root: '/',
      chain: 'link',
      loop: 'loop',
      self: '/proc/self/root',
      process: '/proc/self/cwd',
      dangling: `${secret}.new`,
      users: '/etc/passwd',
    }
    for (const [name, target] of Object.entries(links)) symlinkSync(target, join(folder, name))
    // The links do lead there for an ordinary reader.
    for (const name of ['link', 'link-up', 'chain', `root${secret}`])
      assert.match(readFileSync(join(folder, name), 'utf8'), /canary/)
    const ways = [
      ...Object.keys(links),
      `root${secret}`,
      `self${secret}`,
      `process/../../..${secret}`,
      'users/',
      secret,
      '../'.repeat(12) + secret.slice(1),
      `./../files/../..${secret}`,
      '/etc/passwd',
      '/proc/self/environ',
      '/proc/self/root/etc/passwd',
      '/dev/stdin',
      '/spool/terminal.json',
      '../spool/terminal.json',
      '..',
      '/',
    ]
    for (const way of ways)
      for (const [name, operation] of Object.entries(OPERATIONS)) {
        const answer = await operation(files, way)
        assert.equal(answer.type, 'fault', `${name} ${way}: ${JSON.stringify(answer)}`)
        assert.ok(!JSON.stringify(answer).includes('canary-'), `${name} ${way}`)
      }
    assert.match(readFileSync(secret, 'utf8'), /^canary-\d+\n$/)
  })

  test(`a link that appears and disappears during reads and writes is never followed out (${containment})`, {
    skip,
  }, async (context) => {
    const { files, workspace, secret } = await withSecret(context, containment)
    await files.write('place/file', 'harmless\n')
    const target = containment === 'bubblewrap' ? '/etc/passwd' : secret
    const swapping = `ln -s ${target} link; mkdir folder; cp place/file folder; ln -s $(dirname ${target}) way; while :; do mv -T link place/file; rm -f place/file; cp folder/file place/file; ln -s ${target} link; mv -T folder aside; mv -T way folder; mv -T folder way; mv -T aside folder; done`
    await workspace.start(newCommand(swapping, { background: true }))
    const name = target.slice(target.lastIndexOf('/') + 1)
    for (let round = 0; round < 15; round++) {
      const answers = await Promise.all([
        files.read('place/file'),
        files.read(`folder/${name}`),
        files.write('place/file', 'harmless\n'),
        files.search({ pattern: 'canary|root|nobody' }),
        files.write(`folder/${name}`, 'harmless\n'),
      ])
      assert.ok(!/canary-\d|nobody:/.test(JSON.stringify(answers)), JSON.stringify(answers))
    }
    assert.match(readFileSync(secret, 'utf8'), /^canary-\d+\n$/)
  })
}

async function withSecret(context: TestContext, containment: Containment) {
  const { planted, fixture } = await plantOutside(context, containment)
  const workspace = await fixture.open()
  const folder = join(fixture.folder, workspace.conversationId, 'files')
  return { files: workspace.files, workspace, folder, secret: join(planted.home, 'secret.key') }
}
