import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newGrowingBlocks } from '../../console/chat/growing-blocks.ts'

/** The blocks after the text arrived in pieces of this size. */
function blocksAfter(text: string, size: number): { finished: readonly string[]; open: string } {
  const blocks = newGrowingBlocks()
  let result = blocks.take('')
  for (let end = size; end < text.length + size; end += size) result = blocks.take(text.slice(0, end))
  return result
}

const TEXT = `# A title

A paragraph
of two lines.

\`\`\`js
const a = 1

const b = 2
\`\`\`

1. one
2. two

the end`

test('text that arrives in pieces of any size has the same blocks, and a fence is never split at its empty lines', () => {
  const expected = {
    finished: [
      '# A title\n',
      'A paragraph\nof two lines.\n',
      '```js\nconst a = 1\n\nconst b = 2\n```\n',
      '1. one\n2. two\n',
    ],
    open: 'the end',
  }
  for (const size of [1, 2, 3, 7, 50, 1_000]) assert.deepEqual(blocksAfter(TEXT, size), expected, `pieces of ${size}`)
})

test('finished blocks are never changed, and the open block stays short, so that a piece costs a bounded amount of work', () => {
  const texts = [
    'word '.repeat(4_000),
    'x'.repeat(20_000),
    '😀'.repeat(5_000),
    `~~~\n${'a line of code\n\n'.repeat(1_000)}`,
    '- item\n'.repeat(3_000),
    '```'.repeat(5_000),
    ' \n'.repeat(5_000),
  ]
  for (const text of texts) {
    const blocks = newGrowingBlocks()
    let known: string[] = []
    for (let end = 0; end < text.length + 30; end += 30) {
      const { finished, open } = blocks.take(text.slice(0, end))
      assert.deepEqual(finished.slice(0, known.length), known)
      known = [...finished]
      assert.ok([open, ...finished].every((block) => block.length <= 2_100))
      assert.ok(finished.every((block) => block.isWellFormed()))
    }
  }
})

test('a long code block is cut into code blocks of the same language', () => {
  const { finished, open } = blocksAfter(`\`\`\`python\n${'print("hello")\n'.repeat(400)}`, 40)
  assert.ok(finished.length >= 2)
  for (const block of finished) assert.match(block, /^```python\n[^`]*\n```$/)
  assert.match(open, /^```python\n/)
})
