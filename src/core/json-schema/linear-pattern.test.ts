import assert from 'node:assert/strict'
import { test } from 'node:test'
import { caseCount } from '../../../test/harness/case-count.ts'
import { seededFraction } from '../../../test/harness/seeded.ts'
import { newWorkBudget, OverBudget } from '../work-budget.ts'
import { compilePattern } from './linear-pattern.ts'

const matches = (pattern: string, text: string, steps = 1_000_000) =>
  compilePattern(pattern).test(text, newWorkBudget(steps))

const PATTERNS = [
  '^(a+)+$',
  '^[A-Za-z0-9_.-]+@[A-Za-z0-9-]+\\.[a-z]{2,}$',
  '^\\d{4}-\\d{2}-\\d{2}$',
  '^(?!\\.)(?!.*\\.\\.)([a-z.]*)[a-z]@b$',
  '(?<=a)b|(?<!a)c',
  '^(?=(?:a|bb)+$)(?!.*c)',
  '\\bfoo\\b',
  '\\Bo+\\B',
  '^\\p{Lu}\\p{L}*$',
  '^[^\\s\\]]+?$',
  '^(?<year>\\d+)(?:x|y|)*$',
  '^\\u{1F600}\\uD83D\\uDE00$',
  '^.{2,4}$',
  '^(?:a?){10}a{10}$',
  '',
  '^$',
  '[]',
  '[^]',
  'a{0}b',
  '^(|a|b(c|d){2,})*$',
]
const TEXTS = ['', 'a', 'aaa', 'aaaaaaaaaaaa', 'ab', 'bbc', 'foo', 'a foo b', 'fooo', 'Ärger', 'ada.b@b', 'a..b@b']
TEXTS.push('ada@example.org', '2026-11-18', '1xyx', '😀😀', '\n', 'bcdcdbcc', 'c]', 'aabb', 'aabbc')

test('a pattern decides about every text as JavaScript does', () => {
  for (const pattern of PATTERNS)
    for (const text of TEXTS)
      assert.equal(matches(pattern, text), new RegExp(pattern, 'u').test(text), `${pattern} on ${JSON.stringify(text)}`)
})

test('random patterns decide as JavaScript does', () => {
  const random = seededFraction(7)
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
  const make = (depth: number): string => {
    const atom = () => pick(['a', 'b', '[ab]', '[^a]', '.', '\\b', '\\w', 'c', '^', '$'])
    if (depth === 0) return atom()
    const inner = () => make(depth - 1)
    return pick([
      () => inner() + inner(),
      () => `(?:${inner()}|${inner()})`,
      () => `(?:${inner()})${pick(['*', '+', '?', '{2}', '{1,3}', '{0,2}?', '*?'])}`,
      () => `${pick(['(?=', '(?!', '(?<=', '(?<!'])}${inner()})`,
      () => `(${inner()})`,
      atom,
    ])()
  }
  for (let count = 0; count < caseCount(8_000); count++) {
    const pattern = make(3)
    const text = Array.from({ length: Math.floor(random() * 8) }, () => pick(['a', 'b', 'c', ' '])).join('')
    assert.equal(matches(pattern, text), new RegExp(pattern, 'u').test(text), `${pattern} on "${text}"`)
  }
})

test('a pattern that would take for ever in JavaScript takes steps in proportion to the text', () => {
  for (const pattern of ['^(a+)+$', '^(a|a)*$', '^(a|aa)+$', '^(.*a){20}$', '(x+x+)+y', '^(?=(a+)+$)b'])
    assert.equal(matches(pattern, `${'a'.repeat(5_000)}!`, 5_000_000), false)
})

test('work without end is refused, in the pattern and in the text', () => {
  assert.throws(() => matches('^(a+)+$', 'a'.repeat(10_000), 9_000), OverBudget)
  for (const pattern of ['(a{1000}){1000}', '(?:(?:(?:){20000}){20000}){20000}', 'x'.repeat(10_001)])
    assert.throws(() => compilePattern(pattern), /too large|more than/)
})

test('a pattern that cannot be matched in bounded time, or is malformed, says why', () => {
  assert.throws(() => compilePattern('(a)\\1'), /refers back to a group/)
  assert.throws(() => compilePattern('(?<x>a)\\k<x>'), /refers back to a group/)
  assert.throws(() => compilePattern('('), /Unterminated group/)
  assert.throws(() => compilePattern('(?i:a)'), /flags/)
  assert.throws(() => compilePattern(`${'('.repeat(60)}${')'.repeat(60)}`), /nested/)
})
