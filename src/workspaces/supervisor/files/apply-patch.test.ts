import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { applyPatch } from './apply-patch.ts'

const FILE = 'one\ntwo\nthree\nfour\nfive\n'
const patched = (text: string, patch: string) => applyPatch(text, patch).text
const fault = (text: string, patch: string) => {
  try {
    return assert.fail(`it was applied: ${patched(text, patch)}`)
  } catch (error) {
    return (error as Error).message
  }
}

test('a hunk is applied at its stated line', () => {
  const patch = '--- a/x\n+++ b/x\n@@ -2,2 +2,3 @@ in here\n two\n-three\n+3\n+3.5\n'
  assert.deepEqual(applyPatch(FILE, patch), { text: 'one\ntwo\n3\n3.5\nfour\nfive\n', replacements: 1, line: 3 })
})

test('a hunk with a wrong line is applied at its only match, and later hunks shift with it', () => {
  const file = `${'new\n'.repeat(7)}${FILE}${'same\n'.repeat(20)}`
  const patch = '@@ -2,1 +2,1 @@\n-two\n+2\n@@ -10,1 +10,1 @@\n-same\n+SAME\n'
  const expected = file.replace('two', '2').split('\n')
  expected[16] = 'SAME'
  assert.equal(patched(file, patch), expected.join('\n'))
})

test('a hunk with several matches, none at its stated line, changes nothing', () => {
  assert.match(fault('a\nb\na\nb\n', '@@ -2 +2 @@\n-a\n+c\n'), /Hunk 1 .* fits at lines 1, 3, and not where it says/)
})

test('all hunks are applied or none: the message names the mismatching hunk, its line and the line of the file', () => {
  const words = fault(FILE, '@@ -1 +1 @@\n-one\n+1\n@@ -3,2 +3,2 @@\n three\n-fuor\n+4\n')
  assert.match(words, /Hunk 2 \(@@ -3,2 \+3,2 @@\) does not fit: it wants "fuor", but line 4 of the file is "four"/)
  assert.match(fault('\tone\n', '@@ -1 +1 @@\n-    one\n+1\n'), /differ only in white space/)
  assert.match(fault('one\n', '@@ -1,2 +1 @@\n one\n-two\n'), /the file ends before it/)
  assert.match(fault('one\n', '@@ -9,0 +10 @@\n+two\n'), /the file has only 1 lines/)
})

test('hunks in the wrong order are refused with the reason', () => {
  assert.match(
    fault(FILE, '@@ -4 +4 @@\n-four\n+4\n@@ -1 +1 @@\n-one\n+1\n'),
    /from line 5 on, after the hunk before it/,
  )
})

test('wrong counts, heads without numbers and blank lines without their space are tolerated', () => {
  assert.equal(patched(FILE, '@@ -2,9 +2,7 @@\n two\n-three\n+3\n'), FILE.replace('three', '3'))
  assert.equal(patched(FILE, '@@\n two\n-three\n+3\n\n'), FILE.replace('three', '3'))
  assert.equal(patched(FILE, '@@ def x(): @@\n-three\n+3'), FILE.replace('three', '3'))
  assert.equal(patched('a\n\nb\n', '@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n'), 'a\n\nc\n')
})

test('lines that look like file heads are content when the counts say so', () => {
  assert.equal(patched('-- a\n++ b\nc\n', '@@ -1,3 +1,2 @@\n--- a\n-++ b\n+++ d\n c\n'), '++ d\nc\n')
})

test('anything but a patch of one file is refused with a clear message', () => {
  assert.match(fault(FILE, 'two -> 2'), /no hunk in the patch/)
  assert.match(fault(FILE, '@@ -1 +1 @@\n one\n'), /Hunk 1 .* changes nothing/)
  assert.match(fault(FILE, '@@ -1,2 +1,2 @@\n-one\n+1\ntwo\n'), /Line 4 of the patch, in hunk 1, does not begin with/)
  assert.match(fault(FILE, '--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+x\n'), /makes a new file/)
  assert.match(fault(FILE, '--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n'), /removes the file/)
  const two = '--- a/x\n+++ b/x\n@@ -1 +1 @@\n-one\n+1\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-one\n+1\n'
  assert.match(fault(FILE, two), /several files/)
  assert.match(fault('a\n', '@@ -1 +1 @@\n-a\n+a\n'), /nothing to change/)
})

test('lines keep their endings, and new lines get the usual one', () => {
  assert.equal(patched('a\r\nb\r\nc\r\n', '@@ -1,3 +1,4 @@\n a\n-b\n+B\n+b\n c\n'), 'a\r\nB\r\nb\r\nc\r\n')
  assert.equal(patched('a\nb\r\nc\nd\n', '@@ -1,2 +1,3 @@\r\n a\r\n b\r\n+x\r\n'), 'a\nb\r\nx\nc\nd\n')
})

test('the final line ending stays as it is, unless the patch states otherwise', () => {
  assert.equal(patched('a\nb', '@@ -1,2 +1,2 @@\n a\n-b\n+c\n'), 'a\nc')
  assert.equal(patched('a\nb', '@@ -2 +2 @@\n-b\n\\ No newline at end of file\n+b\n'), 'a\nb\n')
  assert.equal(patched('a\nb\n', '@@ -2 +2 @@\n-b\n+b\n\\ No newline at end of file\n'), 'a\nb')
  assert.equal(patched('a', '@@ -1,0 +2 @@\n+b\n'), 'a\nb')
  assert.match(fault('a\nb\nc\n', '@@ -1 +1 @@\n-a\n+x\n\\ No newline at end of file\n'), /ends the file/)
  assert.equal(patched('', '@@ -0,0 +1 @@\n+a\n'), 'a\n')
  assert.equal(patched('a\n', '@@ -1 +0,0 @@\n-a\n'), '')
})

test('the largest files are patched quickly', () => {
  const start = process.cpuUsage()
  const file = 'same\n'.repeat(400_000)
  assert.equal(patched(file, '@@ -300000 +300000 @@\n-same\n+other\n').indexOf('other'), 299_999 * 5)
  const long = ' same\n'.repeat(1_000)
  assert.match(fault(file, `@@ -1 +1 @@\n${long}-other\n+new\n`), /too much to look for it elsewhere/)
  const lines = Array.from({ length: 400_000 }, (_, index) => `${index}\n`)
  const there = lines.slice(300_000, 301_000).map((line) => ` ${line}`)
  assert.match(patched(lines.join(''), `@@ -1 +1 @@\n${there.join('')}-301000\n+new\n`), /300999\nnew\n301001/)
  assert.match(fault(lines.join(''), `@@ -1 +1 @@\n${there.join('')}-301001\n+new\n`), /Hunk 1 .* does not fit/)
  assert.match(fault('\n'.repeat(500_001), '@@ -1 +1 @@\n-a\n+b\n'), /up to 500000 lines/)
  assert.ok(process.cpuUsage(start).user < 5_000_000)
})

type Step = { sign: ' ' | '-' | '+'; text: string }
type Day = { steps: Step[]; context: number; isOldTerminated: boolean; isNewTerminated: boolean }

/** Few different lines, so that contexts repeat; some look like parts of a patch. */
const LINES = ['a', 'b', 'c', '', ' ', '-- a', '++ b', '@@ -1 +1 @@', '\\ x', 'ä', '\tx']
const days = fc.record<Day>({
  steps: fc.array(
    fc.record<Step>({
      sign: fc.constantFrom<Step['sign'][]>(' ', ' ', ' ', '-', '+'),
      text: fc.constantFrom(...LINES),
    }),
    { minLength: 1, maxLength: 40 },
  ),
  context: fc.nat(4),
  isOldTerminated: fc.boolean(),
  isNewTerminated: fc.boolean(),
})

test('the patch of any change, applied to the old text, gives the new text', () => {
  fc.assert(
    fc.property(days, fc.constantFrom('\n', '\r\n'), (day, ending) => {
      const { old, fresh, patch } = written(day)
      // A single line without an ending does not show which ending the file uses.
      fc.pre(old !== fresh && (ending === '\n' || old.includes('\n')))
      const as = (text: string) => text.replaceAll('\n', ending)
      assert.equal(patched(as(old), patch), as(fresh))
    }),
    { numRuns: 1_000 },
  )
})

test('a patch still applies after lines were inserted above and between its hunks', () => {
  fc.assert(
    fc.property(days, fc.nat(9), (day, above) => {
      // Every line is different, so that each hunk has only one match.
      const steps = day.steps.map((step, index) => ({ ...step, text: `${index}${step.text}` }))
      const { old, fresh, patch } = written({ ...day, steps, context: 2, isOldTerminated: true, isNewTerminated: true })
      fc.pre(old !== fresh && !/^@@ -\d+,0 /m.test(patch))
      const more = Array.from({ length: above }, (_, index) => `more ${index}\n`).join('')
      assert.equal(patched(more + old, patch), more + fresh)
    }),
    { numRuns: 500 },
  )
})

/** Both texts, and a unified diff generated from the changes. */
function written(day: Day) {
  const all = withEndings(day)
  const text = (lines: Ended[]) => lines.map((line) => line.text + (line.isTerminated ? '\n' : '')).join('')
  const isShown = all.map((_, at) =>
    all.slice(Math.max(0, at - day.context), at + day.context + 1).some((near) => near.sign !== ' '),
  )
  const hunks: string[] = []
  for (let at = 0; at < all.length; at += 1) {
    if (!isShown[at] || isShown[at - 1]) continue
    const end = isShown.indexOf(false, at)
    hunks.push(hunkOf(all.slice(0, at), all.slice(at, end === -1 ? all.length : end)))
  }
  return { old: text(oldOf(all)), fresh: text(newOf(all)), patch: hunks.join('') }
}

type Ended = Step & { isTerminated: boolean }
const oldOf = <T extends Step>(steps: T[]): T[] => steps.filter((step) => step.sign !== '+')
const newOf = <T extends Step>(steps: T[]): T[] => steps.filter((step) => step.sign !== '-')

/** A line whose ending changes is removed and added. */
function withEndings({ steps, isOldTerminated, isNewTerminated }: Day): Ended[] {
  const lastOld = steps.findLastIndex((step) => step.sign !== '+')
  const lastNew = steps.findLastIndex((step) => step.sign !== '-')
  return steps.flatMap((step, at): Ended[] => {
    const wasTerminated = at !== lastOld || isOldTerminated || step.text === ''
    const isTerminated = at !== lastNew || isNewTerminated || step.text === ''
    if (step.sign !== ' ' || wasTerminated === isTerminated)
      return [{ ...step, isTerminated: step.sign === '-' ? wasTerminated : isTerminated }]
    return [
      { sign: '-', text: step.text, isTerminated: wasTerminated },
      { sign: '+', text: step.text, isTerminated },
    ]
  })
}

function hunkOf(before: Ended[], part: Ended[]): string {
  const [oldCount, newCount] = [oldOf(part).length, newOf(part).length]
  const oldStart = oldOf(before).length + (oldCount === 0 ? 0 : 1)
  const newStart = newOf(before).length + (newCount === 0 ? 0 : 1)
  const body = part.map(({ sign, text, isTerminated }) =>
    isTerminated ? `${sign}${text}\n` : `${sign}${text}\n\\ No newline at end of file\n`,
  )
  return `@@ -${oldStart},${oldCount} +${newStart},${newCount} @@\n${body.join('')}`
}
