import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Block, insertText, replaceText, rewriteText } from './block.ts'

const block = (value: string, more: Partial<Block> = {}): Block => ({
  id: 'block-1',
  organizationId: 'org-1',
  label: 'human',
  value,
  limit: 40,
  readOnly: false,
  tags: [],
  metadata: {},
  isTemplate: false,
  version: 1,
  createdAt: 0,
  updatedAt: 0,
  ...more,
})

const resultOf = (edit: ReturnType<typeof insertText>) =>
  edit.type === 'edited' ? edit.value : `refused: ${edit.reason}`

test('text is inserted after the given line, or at the end', () => {
  assert.equal(resultOf(insertText(block('a\nb'), 'x', -1)), 'a\nb\nx')
  assert.equal(resultOf(insertText(block('a\nb'), 'x', 0)), 'x\na\nb')
  assert.equal(resultOf(insertText(block('a\nb'), 'x\ny', 1)), 'a\nx\ny\nb')
  assert.equal(resultOf(insertText(block(''), 'x', -1)), 'x')
  for (const line of [3, -2, 0.5]) assert.match(resultOf(insertText(block('a\nb'), 'x', line)), /refused: insert_line/)
})

test('text is replaced only if it occurs once, and a dollar sign is taken literally', () => {
  assert.equal(resultOf(replaceText(block('a b'), 'b', '$&')), 'a $&')
  assert.match(resultOf(replaceText(block('a a'), 'a', 'b')), /occurs 2 times/)
  assert.match(resultOf(replaceText(block('a'), 'c', 'b')), /not found/)
  assert.match(resultOf(replaceText(block('a'), '', 'b')), /must not be empty/)
  assert.match(resultOf(replaceText(block('a'), '1→ a', 'b')), /line numbers/)
})

test('a read-only block and a character limit refuse every edit, and NUL is removed', () => {
  for (const edit of [
    insertText(block('a', { readOnly: true }), 'x', -1),
    rewriteText(block('a', { readOnly: true }), 'x'),
  ])
    assert.match(resultOf(edit), /read-only/)
  assert.equal(resultOf(rewriteText(block(''), 'x'.repeat(40))).length, 40)
  assert.match(resultOf(rewriteText(block(''), 'x'.repeat(41))), /Exceeds 40 character limit \(requested 41\)/)
  assert.equal(resultOf(rewriteText(block(''), 'a\0b')), 'ab')
})
