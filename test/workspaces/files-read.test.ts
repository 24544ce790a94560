import assert from 'node:assert/strict'
import { mkdirSync, symlinkSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { assertFault, done, openFilesFixture } from './fixture-files.ts'

test('lines are read from the requested line, and the answer says which lines it has', async (t) => {
  const { files, put } = openFilesFixture(t)
  put('a.txt', Array.from({ length: 5_000 }, (_, index) => `line ${index + 1}\n`).join(''))
  const start = done(await files.read('a.txt'))
  assert.equal(start.text.split('\n').length, 2_000)
  assert.deepEqual([start.from, start.lines, start.totalLines, start.bytes], [1, 2_000, 5_000, 48_893])
  const part = done(await files.read('a.txt', { from: 4_999, count: 10 }))
  assert.deepEqual([part.text, part.from, part.lines], ['line 4999\nline 5000', 4_999, 2])
  assert.deepEqual(done(await files.read('a.txt', { from: 6_000 })).lines, 0)
})

test('an answer has a size limit for long lines and long files', async (t) => {
  const { files, put } = openFilesFixture(t)
  put('long.txt', `${'x'.repeat(1_000_000)}\nshort\n`)
  const long = done(await files.read('long.txt'))
  assert.match(long.text, /^x{2000}… \[cut: this line has 998000 more characters\]\nshort$/)
  put('wide.txt', `${'y'.repeat(1_900)}\n`.repeat(1_000))
  const wide = done(await files.read('wide.txt'))
  assert.ok(wide.text.length <= 60_000 && wide.lines === 31, `${wide.lines}`)
  assert.equal(wide.totalLines, 1_000)
  put('pairs.txt', `${'x'.repeat(1_999)}😀😀`)
  assert.match(done(await files.read('pairs.txt')).text, /^x{1999}… \[cut: this line has 4 more characters\]$/)
})

test('a file too large to read is refused with an alternative', async (t) => {
  const { files, folder, put } = openFilesFixture(t)
  put('large.bin', '')
  truncateSync(join(folder, 'large.bin'), 65 * 1024 * 1024)
  assertFault(await files.read('large.bin'), 'too-large', /68157440 bytes.*head, tail or sed/)
  put('big.txt', 'a\n'.repeat(4_500_000))
  assert.equal(done(await files.read('big.txt', { from: 4_499_999 })).lines, 2)
  assertFault(await files.edit('big.txt', { type: 'replace', find: 'a', replace: 'b', all: true }), 'too-large')
})

test('an empty file, a file without a final line ending and a CRLF file are reported as such', async (t) => {
  const { files, put } = openFilesFixture(t)
  put('empty', '')
  put('open', 'a\nb')
  put('crlf', 'a\r\n\r\nb\r\n')
  put('mixed', 'a\r\nb\n')
  const readEnding = async (path: string) => {
    const { text, totalLines, lineEnding, isTerminated } = done(await files.read(path))
    return [text, totalLines, lineEnding, isTerminated]
  }
  assert.deepEqual(await readEnding('empty'), ['', 0, 'lf', true])
  assert.deepEqual(await readEnding('open'), ['a\nb', 2, 'lf', false])
  assert.deepEqual(await readEnding('crlf'), ['a\n\nb', 3, 'crlf', true])
  assert.deepEqual(await readEnding('mixed'), ['a\nb', 2, 'mixed', true])
})

test('text in UTF-8 and UTF-16 is read, with or without a byte order mark', async (t) => {
  const { files, put } = openFilesFixture(t)
  const text = 'Grüße\n😀\n'
  put('plain', text)
  put('marked', `\uFEFF${text}`)
  put('little', Buffer.from(`\uFEFF${text}`, 'utf16le'))
  put('big', Buffer.from(`\uFEFF${text}`, 'utf16le').swap16())
  for (const path of ['plain', 'marked', 'little', 'big'])
    assert.equal(done(await files.read(path)).text, 'Grüße\n😀', path)
})

test('a character across two chunks of a file is read whole', async (t) => {
  const { files, put } = openFilesFixture(t)
  const lines = `${'x'.repeat(1_021)}😀😀\n`.repeat(600)
  put('a.txt', lines)
  const { text } = done(await files.read('a.txt', { from: 240, count: 40 }))
  assert.equal(text, lines.split('\n').slice(239, 279).join('\n'))
})

test('a binary file is refused with its kind and size, wherever its binary part begins', async (t) => {
  const { files, put } = openFilesFixture(t)
  const cases: [content: Buffer, words: RegExp][] = [
    [Buffer.from('\x89PNG\r\n\x1a\n\0\0', 'latin1'), /"x" is a PNG image, 10 bytes/],
    [Buffer.from('%PDF-1.7\n\xff', 'latin1'), /a PDF document/],
    [Buffer.from('\x7fELF\x02\x01\0', 'latin1'), /a Linux program/],
    [Buffer.from('RIFF\0\0\0\0WEBPVP8', 'latin1'), /a WEBP file/],
    [Buffer.from('caf\xe9\n', 'latin1'), /text in an encoding that is not UTF-8, 5 bytes\. Convert it first/],
    [Buffer.from('a\0b'), /binary data/],
    [Buffer.concat([Buffer.alloc(600_000, 'a\n'), Buffer.from([0xff])]), /not UTF-8, 600001 bytes/],
    [Buffer.concat([Buffer.alloc(600_000, 'a\n'), Buffer.from([0])]), /is binary data, 600001 bytes/],
    [Buffer.from([0xe2, 0x82]), /not UTF-8/],
  ]
  for (const [content, words] of cases) {
    put('x', content)
    assertFault(await files.read('x'), 'binary', words)
    assertFault(await files.edit('x', { type: 'replace', find: 'a', replace: 'b', all: true }), 'binary')
  }
})

test('reading a folder lists its content, and reading a missing file lists its folder', async (t) => {
  const { files, folder, put } = openFilesFixture(t)
  put('src/main.ts', '')
  mkdirSync(join(folder, 'src/deep'))
  symlinkSync('nowhere', join(folder, 'src/dangling'))
  assertFault(
    await files.read('src'),
    'not-a-file',
    /"src" is a folder\. The folder has "dangling", "deep\/", "main\.ts"/,
  )
  assertFault(await files.read('src/mian.ts'), 'missing', /no file "src\/mian\.ts".*"main\.ts"/)
  assertFault(await files.read('scr/main.ts'), 'missing', /no folder "scr"/)
  assertFault(await files.read('src/dangling'), 'missing')
  assertFault(await files.read('src/deep'), 'not-a-file', /folder is empty/)
  assertFault(await files.read('.'), 'not-a-file', /"src\/"/)
  assertFault(await files.read('src/main.ts/'), 'not-a-file', /not a folder/)
})

test('any text is read line by line unchanged', async (t) => {
  const { files, put } = openFilesFixture(t)
  const line = fc.string({ unit: fc.constantFrom('a', 'ü', '😀', '\t', ' ', '\u2028'), maxLength: 20 })
  const file = fc.record({
    lines: fc.array(line, { maxLength: 30 }),
    from: fc.integer({ min: 1, max: 35 }),
    count: fc.integer({ min: 1, max: 35 }),
  })
  await fc.assert(
    fc.asyncProperty(file, async ({ lines, from, count }) => {
      put('x', lines.map((one) => `${one}\n`).join(''))
      const read = done(await files.read('x', { from, count }))
      const expected = lines.slice(from - 1, from - 1 + count)
      assert.deepEqual([read.text, read.lines, read.totalLines], [expected.join('\n'), expected.length, lines.length])
    }),
    { numRuns: 100 },
  )
})
