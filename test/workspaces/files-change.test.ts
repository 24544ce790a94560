import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { assertFault, done, openFilesFixture, patch } from './fixture-files.ts'

test('a write creates missing folders, and replaces the whole file', async (t) => {
  const { files, get, folder } = openFilesFixture(t)
  assert.deepEqual(done(await files.write('a/b/c.txt', 'long text\n')), { type: 'done', bytes: 10, isNew: true })
  assert.deepEqual(done(await files.write('a/b/c.txt', 'ü')), { type: 'done', bytes: 2, isNew: false })
  assert.equal(get('a/b/c.txt'), 'ü')
  assert.deepEqual(readdirSync(join(folder, 'a/b')), ['c.txt'])
})

test('a write keeps the mode of a file, and a link to it stays a link', async (t) => {
  const { files, folder, put, get, replace } = openFilesFixture(t)
  put('run.sh', '#!/bin/sh\n')
  chmodSync(join(folder, 'run.sh'), 0o750)
  symlinkSync('run.sh', join(folder, 'link'))
  symlinkSync('later.txt', join(folder, 'dangling'))
  done(await files.write('link', '#!/bin/sh\necho a\n'))
  done(await replace('link', 'a', 'b'))
  assert.equal(statSync(join(folder, 'run.sh')).mode & 0o7777, 0o750)
  assert.equal(get('run.sh'), '#!/bin/sh\necho b\n')
  assert.equal(done(await files.write('dangling', 'now')).isNew, true)
  assert.equal(get('later.txt'), 'now')
  assert.deepEqual(readdirSync(folder), ['dangling', 'later.txt', 'link', 'run.sh'])
})

test('writes to a folder, to a read-only file or of too much text are refused, and the old content stays', async (t) => {
  const { files, folder, put, get } = openFilesFixture(t)
  mkdirSync(join(folder, 'folder'))
  put('locked', 'old')
  chmodSync(join(folder, 'locked'), 0o444)
  put('small', 'old')
  assertFault(await files.write('folder', 'x'), 'not-a-file', /folder/)
  assertFault(await files.write('folder/', 'x'), 'not-a-file', /folder/)
  assertFault(await files.write('.', 'x'), 'not-a-file', /folder/)
  assertFault(await files.write('small/x', 'x'), 'not-a-file', /not a folder/)
  assertFault(await files.write('locked', 'new'), 'refused', /read-only.*chmod/)
  assertFault(await files.write('small', 'x'.repeat(8 * 1024 * 1024 + 1)), 'too-large', /8388609 bytes/)
  assert.deepEqual([get('locked'), get('small')], ['old', 'old'])
  assert.deepEqual(readdirSync(folder), ['folder', 'locked', 'small'])
})

test('a write beyond the remaining quota is refused', async (t) => {
  let left: number | undefined = 10
  const { files, get, put } = openFilesFixture(t, { spaceLeft: () => left })
  put('a', 'x'.repeat(50))
  done(await files.write('a', 'y'.repeat(60)))
  assertFault(await files.write('a', 'z'.repeat(71)), 'refused', /grow by 10 bytes, and this needs 11/)
  left = -5
  done(await files.write('a', 'y'.repeat(20)))
  assertFault(await files.write('b', 'y'), 'refused', /grow by 0 bytes/)
  assert.equal(get('a'), 'y'.repeat(20))
})

test('an edit changes one match, keeps encoding and line endings, and reports the line', async (t) => {
  const { files, put, get, folder } = openFilesFixture(t)
  put('a.txt', '\uFEFFone\r\ntwo\r\nthree\r\n')
  const edited = await files.edit('a.txt', { type: 'replace', find: 'one\ntwo', replace: '1\n2', all: false })
  assert.deepEqual(done(edited), { type: 'done', bytes: 16, replacements: 1, line: 1 })
  assert.equal(get('a.txt'), '\uFEFF1\r\n2\r\nthree\r\n')
  put('wide.txt', Buffer.from('\uFEFFgrün\n', 'utf16le').swap16())
  done(await files.edit('wide.txt', patch('@@ -1 +1 @@\n-grün\n+blau\n')))
  assert.deepEqual(readFileSync(join(folder, 'wide.txt')), Buffer.from('\uFEFFblau\n', 'utf16le').swap16())
})

test('an edit that does not fit changes nothing', async (t) => {
  const { files, put, get, replace } = openFilesFixture(t)
  put('a.txt', 'one\ntwo\none\n')
  assertFault(await replace('a.txt', 'one', '1'), 'ambiguous', /2 times, in lines 1, 3/)
  assertFault(await replace('a.txt', 'three', '3'), 'not-found-in-file')
  assertFault(await files.edit('a.txt', patch('@@ -1 +1 @@\n-two\n+2\n@@ -3 +3 @@\n-eno\n+1\n')), 'bad-patch', /Hunk 2/)
  assertFault(await replace('b.txt', 'one', '1'), 'missing')
  assertFault(await files.edit('new/b.txt', patch('@@ -1 +1 @@\n-a\n+b\n')), 'missing')
  assert.equal(get('a.txt'), 'one\ntwo\none\n')
})

test('concurrent edits of one file, by any path, all happen; edits of other files run in parallel', async (t) => {
  const { files, folder, put, get, replace } = openFilesFixture(t)
  mkdirSync(join(folder, 'a'))
  symlinkSync('a', join(folder, 'b'))
  const names = Array.from({ length: 60 }, (_, index) => `slot ${index};`)
  for (const path of ['a/x.txt', 'a/y.txt']) put(path, names.join('\n'))
  const ways = ['a/x.txt', 'b/x.txt', 'a/../b/x.txt', 'b/y.txt']
  await Promise.all(
    names.map(async (name, index) => done(await replace(ways[index % 4]!, name, name.replace('slot', 'done')))),
  )
  const lines = (path: string) => get(path).split('\n')
  assert.equal(lines('a/x.txt').filter((line) => line.startsWith('done')).length, 45)
  assert.equal(lines('a/y.txt').filter((line) => line.startsWith('done')).length, 15)
  const written = names.map((name) => `${name} anew`).join('\n')
  await Promise.all([
    ...names.map((name) => replace('a/x.txt', name.replace('slot', 'done'), 'gone')),
    files.write('b/x.txt', written),
    ...names.slice(0, 9).map((name) => replace('a/x.txt', name, 'edited')),
  ])
  assert.match(get('a/x.txt').replaceAll('edited', 'slot'), /^(slot( \d+;)? anew\n?){60}$/)
})

test('a write by another process during an edit is not lost', async (t) => {
  let isFirst = true
  const { files, folder, get, put } = openFilesFixture(t, {
    // Called after the file was read and before it is written.
    spaceLeft: () => {
      if (isFirst) writeFileSync(join(folder, 'a.txt'), 'one\ntwo\nfrom elsewhere\n')
      isFirst = false
      return undefined
    },
  })
  put('a.txt', 'one\ntwo\n')
  done(await files.edit('a.txt', { type: 'replace', find: 'one', replace: '1', all: false }))
  assert.equal(get('a.txt'), '1\ntwo\nfrom elsewhere\n')
})

test('an edit of a file that never stops changing is given up', async (t) => {
  let count = 0
  const { files, folder, put } = openFilesFixture(t, {
    spaceLeft: () => {
      count += 1
      writeFileSync(join(folder, 'a.txt'), `one ${count}\n`)
      return undefined
    },
  })
  put('a.txt', 'one\n')
  assertFault(await files.write('a.txt', 'mine'), 'refused', /keeps changing/)
  assert.deepEqual(readdirSync(folder), ['a.txt'])
})
