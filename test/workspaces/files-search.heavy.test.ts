import assert from 'node:assert/strict'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import type { FileSearchQuery } from '../../src/ports/workspace-files.ts'
import { findRipgrep } from '../../src/workspaces/supervisor/files/search-by-ripgrep.ts'
import { missingProgram } from '../harness/programs.ts'
import { assertFault, done, openFilesFixture } from './fixture-files.ts'

const lacking = missingProgram('rg')
const SEARCH_PROGRAMS = [
  { name: 'ripgrep', options: {}, skip: lacking },
  { name: 'the built-in walker', options: { ripgrep: 'none' }, skip: false },
]

type FilesFixture = ReturnType<typeof openFilesFixture>

function writeTestFiles({ put, folder, outside }: FilesFixture): void {
  put('a.txt', 'Hello world\nhello again\n\nlast hello')
  put('b/deep/code.ts', 'export const hello = 1\n// HELLO\n\tconst größe = "x.y"\r\nconst z = x.y\r\n')
  put('b/deep/code.test.ts', 'hello test\n')
  put('b-side.md', '# hello\n')
  put('.hidden', 'hello hidden\n')
  put('.gitignore', '*.md\n')
  put('.git/config', 'hello\n')
  put('node_modules/x/index.js', 'hello\n')
  put('b/node_modules/y.js', 'hello\n')
  put('binary', 'hello\0\nhello\n')
  put('late-binary', `hello\n${'x\n'.repeat(200_000)}\0`)
  put('latin', Buffer.from('hello caf\xe9\n', 'latin1'))
  put('marked', '\uFEFFhello marked\n')
  put('wide', Buffer.from('\uFEFFhello wide\n', 'utf16le'))
  put('large', `hello\n${'x'.repeat(4 * 1024 * 1024)}`)
  put('empty', '')
  put('.holdfast-0123.tmp', 'hello\n')
  put('long', `${'-'.repeat(5_000)}hello${'+'.repeat(5_000)}\n`)
  put('name with ünïcode', 'hello\n')
  symlinkSync(join(outside, 'secret.txt'), join(folder, 'secret'))
  symlinkSync('a.txt', join(folder, 'link'))
  symlinkSync('b', join(folder, 'folder-link'))
  symlinkSync('.', join(folder, 'b/circle'))
}

/** Each with the number of matching lines. */
const CASES: [question: FileSearchQuery, count: number][] = [
  [{ pattern: 'hello' }, 11],
  [{ pattern: 'hello', ignoreCase: true }, 13],
  [{ pattern: '^hello' }, 7],
  [{ pattern: 'hello$' }, 3],
  [{ pattern: '"x.y"$' }, 1],
  [{ pattern: 'x.y', isText: true }, 2],
  [{ pattern: '\\bgr\\w+e\\b' }, 1],
  [{ pattern: '(hello|world) (again|test)' }, 2],
  [{ pattern: '[[:upper:]]{5}' }, 1],
  [{ pattern: '^$' }, 1],
  [{ pattern: '(?i)WORLD' }, 1],
  [{ pattern: 'hello', glob: '*.ts' }, 2],
  [{ pattern: 'hello', glob: '!*.ts' }, 9],
  [{ pattern: 'hello', glob: 'b/**/*.ts' }, 2],
  [{ pattern: 'hello', glob: 'deep/*.ts' }, 0],
  [{ pattern: 'hello', glob: '*.{md,txt}' }, 3],
  [{ pattern: 'hello', path: 'b' }, 2],
  [{ pattern: 'hello', path: 'b', glob: 'deep/*.test.ts' }, 1],
  [{ pattern: 'hello', path: 'folder-link/deep' }, 2],
  [{ pattern: 'hello', path: 'a.txt' }, 2],
  [{ pattern: 'hello', path: 'link' }, 2],
  [{ pattern: 'hello', path: 'node_modules' }, 1],
  [{ pattern: 'hello(?! again)', path: 'a.txt' }, 1],
  [{ pattern: '(l)\\1o (?=again)' }, 1],
  [{ pattern: '-e' }, 0],
  [{ pattern: 'a secret' }, 0],
  [{ pattern: 'hello', limit: 3 }, 3],
]

test('the built-in walker finds matches in text files only', async (t) => {
  const fixture = openFilesFixture(t, { ripgrep: 'none' })
  writeTestFiles(fixture)
  for (const [question, count] of CASES) {
    const { matches, isCut } = done(await fixture.files.search(question))
    assert.equal(matches.length, count, `${JSON.stringify(question)}: ${JSON.stringify(matches, null, 1)}`)
    assert.equal(isCut, question.limit !== undefined)
  }
  const [first] = done(await fixture.files.search({ pattern: 'hello', path: 'b' })).matches
  assert.deepEqual(first, { path: 'b/deep/code.test.ts', line: 1, text: 'hello test' })
  const [long] = done(await fixture.files.search({ pattern: 'hello', glob: 'long' })).matches
  assert.match(long!.text, /^…-{60}hello\+{235}…$/)
})

test('ripgrep gives the same answers', { skip: lacking }, async (t) => {
  const fixture = openFilesFixture(t)
  writeTestFiles(fixture)
  const walker = fixture.again({ ripgrep: 'none' })
  for (const [question] of CASES) assert.deepEqual(await fixture.files.search(question), await walker.search(question))
})

const PARTS = [
  'a',
  'B',
  'ü',
  'x',
  ' ',
  '.',
  '[ab]',
  '[^a ]',
  '\\w',
  '\\W',
  '\\d',
  '\\s',
  '\\b',
  '(a|xB)',
  '(?:ü.)',
  '^',
  '$',
  '1',
]
const TIMES = ['', '', '', '*', '+', '?', '{2}', '{1,2}']

test('ripgrep and the walker give the same answers to random expressions', { skip: lacking }, async (t) => {
  const { files, again, put } = openFilesFixture(t)
  const walker = again({ ripgrep: 'none' })
  const line = fc.string({ unit: fc.constantFrom('a', 'B', 'ü', 'x', ' ', '1', '_', '-', 'é'), maxLength: 12 })
  const part = fc.record({ part: fc.constantFrom(...PARTS), times: fc.constantFrom(...TIMES) })
  const written = part.map(({ part, times }) => part + (/^(\^|\$|\\b)$/.test(part) ? '' : times))
  // Before a line that ends with CRLF, ripgrep finds no word boundary at `$`: its `$` is in front of the CR, its boundary behind.
  const isComparable = (parts: string[]) => !/\$(\$|\^)*\\b/i.test(parts.join(''))
  const pattern = fc.array(written, { minLength: 1, maxLength: 5 }).filter(isComparable)
  const question = fc.record({ pattern, ignoreCase: fc.boolean() })
  await fc.assert(
    fc.asyncProperty(fc.array(line, { maxLength: 12 }), question, async (lines, { pattern, ignoreCase }) => {
      put('a.txt', lines.join('\n'))
      put('b/c.txt', lines.join('\r\n'))
      const query = { pattern: pattern.join(''), ignoreCase }
      assert.deepEqual(await walker.search(query), await files.search(query))
    }),
    { numRuns: 20 },
  )
})

for (const { name, options, skip } of SEARCH_PROGRAMS) {
  test(`${name} reports what is wrong with a query`, { skip }, async (t) => {
    const fixture = openFilesFixture(t, options)
    fixture.put('a.txt', 'hello\n')
    const { files } = fixture
    assertFault(await files.search({ pattern: '(' }), 'bad-pattern', /not a regular expression: Unterminated group/)
    assertFault(await files.search({ pattern: '' }), 'bad-pattern', /empty/)
    assertFault(await files.search({ pattern: 'a\nb' }), 'bad-pattern', /one line at a time/)
    assertFault(await files.search({ pattern: 'a', glob: '{a' }), 'bad-pattern', /glob cannot be used/)
    assertFault(await files.search({ pattern: 'a', path: 'nowhere' }), 'missing')
    assertFault(await files.search({ pattern: 'a', path: 'a.txt/b' }), 'not-a-file')
    fixture.put('large', 'x'.repeat(4 * 1024 * 1024 + 1))
    assertFault(await files.search({ pattern: 'a', path: 'large' }), 'too-large')
  })

  test(`${name} stops at the requested number of matches`, { skip }, async (t) => {
    const { files, put } = openFilesFixture(t, options)
    for (const path of ['a', 'b', 'c']) put(path, 'x\n'.repeat(100_000))
    const some = done(await files.search({ pattern: 'x', limit: 7 }))
    assert.deepEqual([some.matches.length, some.isCut, some.cutBy], [7, true, 'matches'])
    assert.equal(done(await files.search({ pattern: 'x' })).matches.length, 200)
    assert.equal(done(await files.search({ pattern: 'x', limit: 1_000_000 })).matches.length, 1_000)
    put('three', 'y\ny\ny\n')
    assert.equal(done(await files.search({ pattern: 'y', limit: 3 })).isCut, false)
  })
}

test('an expression or a glob that backtracks forever ends at its deadline and blocks nothing', async (t) => {
  const { files, put } = openFilesFixture(t, { ripgrep: 'none', searchMilliseconds: 1_000 })
  put('a.txt', 'found\n')
  put('b.txt', `${'a'.repeat(40)}!\n`)
  put(`${'a'.repeat(200)}`, 'x\n')
  const start = performance.now()
  let longest = 0
  let last = performance.now()
  const beat = setInterval(() => {
    longest = Math.max(longest, performance.now() - last)
    last = performance.now()
  }, 5)
  t.after(() => clearInterval(beat))
  const slow = done(await files.search({ pattern: '^(a+)+$|found' }))
  assert.deepEqual([slow.matches.length, slow.cutBy], [1, 'time'])
  const glob = done(await files.search({ pattern: 'x', glob: `${'*a'.repeat(20)}*b` }))
  assert.equal(glob.cutBy, 'time')
  assert.ok(performance.now() - start < 6_000)
  assert.ok(longest < 700, `held up for ${longest} ms`)
  assert.equal(done(await files.search({ pattern: 'found' })).isCut, false)
})

test('many searches at once are all answered', async (t) => {
  const { files, put, again } = openFilesFixture(t)
  put('a.txt', 'hello\n')
  const walker = again({ ripgrep: 'none' })
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, index) => (index % 2 ? walker : files).search({ pattern: 'hello' })),
  )
  for (const answer of answers) assert.equal(done(answer).matches.length, 1)
})

test('if ripgrep cannot be started, the walker searches', async (t) => {
  const { files, put } = openFilesFixture(t, { ripgrep: '/nowhere/rg' })
  put('a.txt', 'hello\n')
  assert.equal(done(await files.search({ pattern: 'hello' })).matches.length, 1)
})

test('if ripgrep is killed during a search, the walker searches', async (t) => {
  const { place, put, again } = openFilesFixture(t)
  put('a.txt', 'hello\n')
  const program = join(place, 'rg')
  writeFileSync(program, '#!/bin/sh\nkill -9 $$\n', { mode: 0o755 })
  assert.equal(done(await again({ ripgrep: program }).search({ pattern: 'hello' })).matches.length, 1)
})

test('a search never runs a program from the workspace', async (t) => {
  const { folder } = openFilesFixture(t)
  mkdirSync(join(folder, 'bin'))
  writeFileSync(join(folder, 'bin/rg'), '#!/bin/sh\n', { mode: 0o755 })
  assert.equal(findRipgrep(folder, `${folder}/bin:bin:.`), undefined)
  assert.equal(findRipgrep('/elsewhere', `${folder}/bin`), join(folder, 'bin/rg'))
})
