import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { replaceText } from './replace-text.ts'

const replaced = (text: string, find: string, replace: string, all = false) => replaceText(text, { find, replace, all })
const fault = (text: string, find: string, replace = 'x') => {
  try {
    return assert.fail(`it was replaced: ${replaced(text, find, replace).text}`)
  } catch (error) {
    return (error as Error).message
  }
}

test('a single match is replaced, or all matches on request', () => {
  assert.deepEqual(replaced('a\nb\nc\n', 'b', '$&'), { text: 'a\n$&\nc\n', replacements: 1, line: 2 })
  assert.deepEqual(replaced('aba', 'a', 'aa', true), { text: 'aabaa', replacements: 2, line: 1 })
  assert.equal(replaced('a\nb\n', 'a\n', '').text, 'b\n')
})

test('a text with several matches changes nothing, and the message lists them, overlapping ones too', () => {
  assert.match(fault('a\nb\na\n', 'a'), /found 2 times, in lines 1, 3/)
  assert.match(fault('aaa', 'aa'), /found 2 times/)
  assert.match(fault('a\n'.repeat(30), 'a'), /found 30 times, in lines 1, .*, 20, …/)
})

test('a text that is not found is reported with the nearest text', () => {
  const file = 'function add(a, b) {\n\treturn a + b\n}\n\nconst total = add(1, 2)\n'
  const spaced = fault(file, 'function add(a, b) {\n    return a + b\n}')
  assert.match(
    spaced,
    /Lines 1 to 3 differ only in white space .*exactly:\nfunction add\(a, b\) \{\n\treturn a \+ b\n\}/,
  )
  assert.match(fault(file, 'const  total'), /Line 5 differs only in white space/)
  assert.match(fault(file, 'const totals = add(1, 3)'), /The nearest is line 5:\nconst total = add\(1, 2\)/)
  assert.match(fault(file, 'nothing like that at all'), /No line is like it/)
  assert.match(fault(file, '2\t\treturn a + b'), /leave these out/)
  assert.match(fault('a', ' \n '), /only blank/)
  assert.match(fault('', 'a'), /not found/)
})

test('a replacement that changes nothing is refused', () => {
  assert.match(fault('a', 'a', 'a'), /nothing to change/)
  assert.match(fault('a\r\nb', 'a\nb', 'a\r\nb'), /nothing to change/)
  assert.match(fault('a', ''), /empty/)
})

test('line endings stay as the file has them, whichever the caller writes', () => {
  assert.equal(replaced('a\r\nb\r\nc\r\n', 'a\nb', 'x\ny\nz').text, 'x\r\ny\r\nz\r\nc\r\n')
  assert.equal(replaced('a\nb\n', 'a\r\nb', 'x\r\ny').text, 'x\ny\n')
  assert.equal(replaced('a\r\nb\nc\nd\n', 'c', 'x\ny').text, 'a\r\nb\nx\ny\nd\n')
})

const piece = fc.constantFrom('a', 'b', '\n', '\r\n', ' ', 'ä')
const text = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(''))

test('text around a replacement stays byte for byte, with any line endings', () => {
  fc.assert(
    fc.property(text, text, text, (before, found, after) => {
      const find = `<${found}>`
      const { text, line } = replaced(before + find + after, find, 'X')
      assert.equal(text, `${before}X${after}`)
      assert.equal(line, before.split('\n').length)
    }),
    { numRuns: 500 },
  )
})

test('the largest files are edited quickly', () => {
  const start = process.cpuUsage()
  const many = 'a'.repeat(8_000_000)
  assert.match(fault(many, 'a'), /found 10000 times and more, in lines 1, 1/)
  assert.match(fault(many, 'a'.repeat(4_000)), /found 10000 times and more/)
  assert.match(fault('\n'.repeat(8_000_000), 'a\n'), /not found/)
  assert.throws(() => replaced(many, 'a', 'aaa', true), /more than 8388608 characters/)
  assert.equal(replaced('ab\r\n'.repeat(500_000), 'a', 'x', true).replacements, 500_000)
  assert.ok(process.cpuUsage(start).user < 5_000_000)
})

test('the slowest search for the nearest text is quick', () => {
  const file = 'the quick brown fox jumps over the lazy dog again and again\n'.repeat(120_000)
  const start = process.cpuUsage()
  assert.match(fault(file, 'the quick brown cat sleeps under the lazy dog again'), /nearest/)
  assert.ok(process.cpuUsage(start).user < 2_000_000)
})
