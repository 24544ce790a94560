import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createFileSync, replaceFile, replaceFileSync, temporaryName } from './atomic-write.ts'
import { readIfPresent, readIfPresentSync } from './read-if-present.ts'

test('a file is replaced atomically, readable by its owner only, and no temporary file is left', async (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'notes.txt')
  for (const text of ['old', 'new']) replaceFileSync(file, text)
  assert.equal(readFileSync(file, 'utf8'), 'new')
  await replaceFile(file, 'newest', 'one')
  assert.equal(await readIfPresent(file), 'newest')
  assert.equal(statSync(file).mode & 0o777, 0o600)
  assert.deepEqual(readdirSync(folder), ['notes.txt'])
})

test('a temporary file left by a killed process does not block the next write', async (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'notes.txt')
  for (const attempt of ['one', `${process.pid}`])
    writeFileSync(join(folder, temporaryName(file, attempt)), 'half', { mode: 0o644 })
  replaceFileSync(file, 'whole')
  assert.equal(statSync(file).mode & 0o777, 0o600)
  await replaceFile(file, 'whole again', 'one')
  assert.deepEqual(readdirSync(folder), ['notes.txt'])
  assert.equal(readFileSync(file, 'utf8'), 'whole again')
})

test('a file is created once: a second create returns false and the first text stays', (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'key')
  assert.equal(createFileSync(file, 'first'), true)
  assert.equal(createFileSync(file, 'second'), false)
  assert.equal(readIfPresentSync(file), 'first')
  assert.deepEqual(readdirSync(folder), ['key'])
})

test('a missing file reads as undefined, and any other error is thrown', async (t) => {
  const folder = temporaryFolder(t)
  assert.equal(await readIfPresent(join(folder, 'none')), undefined)
  assert.equal(readIfPresentSync(join(folder, 'none')), undefined)
  await assert.rejects(readIfPresent(folder), { code: 'EISDIR' })
  assert.throws(() => readIfPresentSync(folder), { code: 'EISDIR' })
})

function temporaryFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-disk-'))
  t.after(() => rmSync(folder, { recursive: true }))
  return folder
}
