import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { walkFolder } from './walk-folder.ts'

function newFolders(t: TestContext): { inside: string; outside: string } {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-walk-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const [inside, outside] = [join(folder, 'inside'), join(folder, 'outside')]
  for (const one of [inside, outside, join(inside, 'sub')]) mkdirSync(one)
  writeFileSync(join(inside, 'sub', 'file'), 'mine')
  writeFileSync(join(outside, 'file'), 'secret')
  return { inside, outside }
}

const options = { path: 'files', isKept: () => true }

test('a folder that is replaced by a link while it is read does not lead outside', {
  skip: process.platform !== 'linux',
}, async (t) => {
  const { inside, outside } = newFolders(t)
  const contents: string[] = []
  for await (const entry of walkFolder(inside, options)) {
    if (entry.path === 'files/sub') {
      renameSync(join(inside, 'sub'), join(inside, 'moved'))
      symlinkSync(outside, join(inside, 'sub'))
    }
    if (entry.type === 'file') contents.push(await entry.handle.readFile('utf8'))
  }
  assert.deepEqual(contents, ['mine'])
})

test('a folder that is replaced by a link before it is read is a link', async (t) => {
  const { inside, outside } = newFolders(t)
  const found: string[] = []
  for await (const entry of walkFolder(inside, options)) {
    if (entry.path === 'files') {
      rmSync(join(inside, 'sub'), { recursive: true })
      symlinkSync(outside, join(inside, 'sub'))
    }
    found.push(`${entry.type} ${entry.path}`)
  }
  assert.deepEqual(found, ['folder files', 'link files/sub'])
})

test('a pipe is left out and does not hold the walk up', async (t) => {
  const { inside } = newFolders(t)
  execFileSync('mkfifo', [join(inside, 'pipe')])
  const paths: string[] = []
  for await (const { path } of walkFolder(inside, options)) paths.push(path)
  assert.deepEqual(paths, ['files', 'files/sub', 'files/sub/file'])
})
