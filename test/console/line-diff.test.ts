import assert from 'node:assert/strict'
import { test } from 'node:test'
import { diffLines } from '../../console/parts/line-diff.ts'

const shown = (before: string, after: string) =>
  diffLines(before, after).map((line) => (line.sign === '…' ? `…${line.lines}` : `${line.sign}${line.text}`))

test('a diff names removed and added lines with two lines around them, and counts the others', () => {
  assert.deepEqual(shown('a\nb\nc\nd\ne\nf', 'a\nb\nc\nd\nE\nf'), ['…2', ' c', ' d', '−e', '+E', ' f'])
  assert.deepEqual(shown('', 'a\n'), ['+a', '+'])
  assert.deepEqual(shown('a', ''), ['−a'])
  assert.deepEqual(shown('a', 'a'), ['…1'])
  assert.deepEqual(shown('', ''), [])
  assert.deepEqual(shown('x\na\ny', 'a\nz'), ['−x', ' a', '−y', '+z'])
})

test('the lines of a diff without the added ones are the old text, and without the removed ones the new', () => {
  const texts = ['a\nb\nc', 'c\nb\na', 'b', 'a\na\nb\nb', '', 'c\n\n\na']
  for (const before of texts)
    for (const after of texts) {
      const lines = diffLines(before, after).flatMap((line) => (line.sign === '…' ? [] : [line]))
      const equal = diffLines(before, after).some(({ sign }) => sign === '…')
      if (equal) continue
      const side = (sign: string) =>
        lines
          .filter((line) => line.sign !== sign)
          .map(({ text }) => text)
          .join('\n')
      assert.deepEqual([side('+'), side('−')], [before, after])
    }
})

test('a text of many thousand changed lines does not hold the page', () => {
  const lines = (word: string) => Array.from({ length: 20_000 }, (_, index) => `${word} ${index}`).join('\n')
  assert.equal(diffLines(lines('a'), lines('b')).length, 40_000)
})
