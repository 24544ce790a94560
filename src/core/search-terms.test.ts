import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fuseRankings, searchTerms, tokensIn } from './search-terms.ts'

test('a text is split into its words at any separator', () => {
  assert.deepEqual(tokensIn('The "quick" brown-fox_is it’s\0 100%'), [
    'the',
    'quick',
    'brown',
    'fox',
    'is',
    'it',
    's',
    '100',
  ])
  assert.deepEqual(tokensIn('Crème BRÛLÉE ﬁn İstanbul'), ['creme', 'brulee', 'fin', 'istanbul'])
  assert.deepEqual(tokensIn('去北京 by 車'), ['去', '北', '京', 'by', '車'])
  assert.deepEqual(tokensIn('so 🎉!'), ['so', 'picture1f389'])
  assert.deepEqual(tokensIn('\uD83C \uDC00 … "'), [])
})

test('tokens contain no database operators', () => {
  const odd = `a"b'c(d)e*f:g&h|i!j<k>l\\m%n_o-p^q{r}s;t--u/*v\0w\nx 'y' \uD83C z`
  for (const token of [...tokensIn(odd), ...searchTerms(odd).flatMap(({ tokens }) => tokens)])
    assert.match(token, /^[\p{L}\p{M}\p{N}]+$/u)
  assert.ok(tokensIn('x'.repeat(10_000)).every((token) => token.length <= 64))
})

test('a query has each word once, a limited number of terms, and adjacent pairs for a sentence without spaces', () => {
  assert.deepEqual(
    searchTerms('Blue blue BLUE sea').map(({ plain }) => plain),
    ['blue', 'sea'],
  )
  assert.equal(searchTerms(Array.from({ length: 100 }, (_, index) => `w${index}`).join(' ')).length, 32)
  assert.deepEqual(searchTerms('北京'), [{ plain: '北京', tokens: ['北', '京'] }])
  assert.deepEqual(
    searchTerms('我们去北京').map(({ plain }) => plain),
    ['我们', '们去', '去北', '北京'],
  )
  assert.deepEqual(searchTerms('" ( % _'), [])
})

test('an item that ranks high in two rankings comes before one that is first in one ranking', () => {
  const fused = fuseRankings(
    [
      ['a', 'b', 'c'],
      ['d', 'b'],
    ],
    (item) => item,
  )
  assert.deepEqual(
    fused.map(({ item }) => item),
    ['b', 'a', 'd', 'c'],
  )
  assert.deepEqual(fused[0]?.ranks, [2, 2])
  assert.deepEqual(fused[1]?.ranks, [1, undefined])
})
