import assert from 'node:assert/strict'
import { test } from 'node:test'
import { globPattern } from './glob.ts'
import { newSearchPattern, requireLinePattern } from './search-pattern.ts'

const finds = (pattern: string, line: string) => {
  const { source, flags } = newSearchPattern({ pattern })
  return new RegExp(source, flags).exec(line)?.[0]
}

test('expressions of ripgrep match the same text here', () => {
  const cases: [pattern: string, line: string, found: string | undefined][] = [
    [String.raw`\w+`, '  größe_1!', 'größe_1'],
    [String.raw`\bé\b`, 'caf é', 'é'],
    [String.raw`\bf`, 'éf', undefined],
    [String.raw`[\w-]+`, '(a-é)', 'a-é'],
    [String.raw`\d`, '٣', '٣'],
    ['[[:alpha:]_]+', '1ab_2', 'ab_'],
    ['(?i)ABC', 'xabc', 'abc'],
    ['(?P<name>a)', 'a', 'a'],
    [String.raw`a\-b\"c`, 'a-b"c', 'a-b"c'],
    ['f() {', 'f {', 'f {'],
    ['x{2}', 'xxx', 'xx'],
    ['}]', '}]', '}]'],
    ['[]a]+', 'b]a', ']a'],
    [String.raw`\x{41}\pL`, 'AB', 'AB'],
    ['a.b', 'a\u2028b', 'a\u2028b'],
    ['😀{2}', '😀😀', '😀😀'],
    [String.raw`\Aab\z`, 'ab', 'ab'],
  ]
  for (const [pattern, line, found] of cases) assert.equal(finds(pattern, line), found, pattern)
})

test('plain text is matched literally', () => {
  const { source, flags } = newSearchPattern({ pattern: 'a.b*(c)[d]{e}|$^\\/-', isText: true })
  assert.ok(new RegExp(source, flags).test('x a.b*(c)[d]{e}|$^\\/-'))
  assert.ok(!new RegExp(source, flags).test('aXb'))
})

test('a pattern that can match nothing is refused with the reason', () => {
  assert.throws(() => newSearchPattern({ pattern: '(a' }), /not a regular expression: Unterminated group/)
  assert.throws(() => newSearchPattern({ pattern: '*' }), /not a regular expression: Nothing to repeat/)
  assert.throws(() => requireLinePattern({ pattern: '' }), /empty/)
  for (const pattern of ['a\nb', 'a\\nb', 'a\\\\\\nb'])
    assert.throws(() => requireLinePattern({ pattern }), /one line at a time/)
  requireLinePattern({ pattern: 'a\\\\nb' })
  requireLinePattern({ pattern: 'a\\nb', isText: true })
})

test('globs match names in any folder and paths from the start', () => {
  const cases: [glob: string, yes: string[], no: string[]][] = [
    ['*.ts', ['a.ts', 'b/c.ts', '.ts'], ['a.tsx', 'a.ts/b']],
    ['/*.ts', ['a.ts'], ['b/c.ts']],
    ['src/*.ts', ['src/a.ts'], ['src/b/a.ts', 'x/src/a.ts']],
    ['src/**/*.ts', ['src/a.ts', 'src/b/c/a.ts'], ['a.ts']],
    ['**/b/*', ['b/a', 'a/b/c'], ['b', 'a/b/c/d']],
    ['src/**', ['src/a', 'src/b/c'], ['src']],
    ['*.{yml,yaml}', ['a.yml', 'b/a.yaml'], ['a.yl']],
    ['a?c', ['abc', 'x/aäc'], ['ac', 'a/c']],
    ['[!a]b', ['cb'], ['ab']],
    ['[a-c].txt', ['b.txt'], ['d.txt']],
    [String.raw`\*`, ['*'], ['a']],
    ['a+(b).txt', ['a+(b).txt'], ['ab.txt']],
  ]
  for (const [glob, yes, no] of cases) {
    const { source, flags } = globPattern(glob)
    const pattern = new RegExp(source, flags)
    for (const path of yes) assert.ok(pattern.test(path), `${glob} has ${path}`)
    for (const path of no) assert.ok(!pattern.test(path), `${glob} has not ${path}`)
  }
  assert.equal(globPattern('!*.ts').isNegative, true)
  for (const glob of ['', '!', '{a', '[a', 'src/', '[b-a]'])
    assert.throws(() => globPattern(glob), /glob cannot be used/, glob)
})
