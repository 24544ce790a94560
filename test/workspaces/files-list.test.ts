import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { assertFault, done, openFilesFixture } from './fixture-files.ts'

test('a folder is listed with its folders first, and a link is named and not followed', async (t) => {
  const { files, folder, outside, put } = openFilesFixture(t)
  put('b.txt', 'four')
  put('a/z/deep.txt', 'x')
  put('.hidden', '')
  symlinkSync(join(outside, 'secret.txt'), join(folder, 'link'))
  execFileSync('mkfifo', [join(folder, 'pipe')])
  utimesSync(join(folder, 'b.txt'), 1_000, 1_000)
  const { entries, isCut, path } = done(await files.list('.'))
  assert.equal(isCut, false)
  assert.equal(path, '')
  assert.deepEqual(
    entries.map(({ name, kind }) => [name, kind]),
    [
      ['a', 'folder'],
      ['.hidden', 'file'],
      ['b.txt', 'file'],
      ['link', 'link'],
      ['pipe', 'other'],
    ],
  )
  const file = entries[2]!
  assert.deepEqual([file.bytes, file.changedAt], [4, 1_000_000])
  assert.notEqual(entries[3]!.bytes, 'a secret\n'.length, 'nothing of what a link leads to')
  assert.deepEqual(done(await files.list('a/../a')).path, 'a')
  assert.deepEqual(
    done(await files.list(join(folder, 'a'))).entries.map(({ name }) => name),
    ['z'],
  )
  assertFault(await files.list('b.txt'), 'not-a-file', /is a file and not a folder/)
  assertFault(await files.list('pipe'), 'not-a-file', /named pipe/)
  assertFault(await files.list('nothing'), 'missing', /There is no folder "nothing"/)
  assertFault(await files.list('nothing/below'), 'missing')
  assertFault(await files.list('link'), 'outside')
})

test('names, sizes and dates that an agent chose do not hide a folder', async (t) => {
  const { files, folder } = openFilesFixture(t)
  const names = ['<img src=x>', 'a\nb', '\u202Etxt.exe', ' ', '-rf']
  for (const name of names) writeFileSync(join(folder, name), 'x')
  writeFileSync(Buffer.concat([Buffer.from(`${folder}/`), Buffer.from([0x62, 0xff])]), 'x')
  writeFileSync(join(folder, 'old'), '')
  execFileSync('touch', ['-d', '@-1000000', join(folder, 'old')])
  writeFileSync(join(folder, 'late'), '')
  execFileSync('touch', ['-d', '@253402300800', join(folder, 'late')])
  const { entries } = done(await files.list('.'))
  for (const name of [...names, 'old', 'late', 'b\uFFFD'])
    assert.ok(
      entries.some((entry) => entry.name === name),
      JSON.stringify(name),
    )
  assert.equal(entries.find(({ name }) => name === 'old')!.changedAt, 0)
  assert.equal(new Date(entries.find(({ name }) => name === 'late')!.changedAt).getUTCFullYear() <= 9_999, true)
})

test('of a folder with more entries than are listed, the list says that it is cut', async (t) => {
  const { files, folder } = openFilesFixture(t)
  mkdirSync(join(folder, 'many'))
  for (let index = 0; index < 1_000; index++) writeFileSync(join(folder, 'many', String(index)), '')
  assert.equal(done(await files.list('many')).isCut, false)
  writeFileSync(join(folder, 'many', 'one more'), '')
  const { entries, isCut } = done(await files.list('many'))
  assert.deepEqual([entries.length, isCut], [1_000, true])
})
