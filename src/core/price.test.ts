import assert from 'node:assert/strict'
import { test } from 'node:test'
import { costOf, type Price } from './price.ts'

const price: Price = { input: 3, output: 15, cachedInput: 0.3, cacheWrite: 3.75, asOf: '2026-11-15' }

test('cached and written tokens are part of the prompt and have their own prices', () => {
  const usage = { promptTokens: 1_000_000, completionTokens: 100_000, cachedTokens: 500_000, cacheWriteTokens: 100_000 }
  assert.equal(costOf(usage, price)?.toFixed(4), (1.2 + 1.5 + 0.15 + 0.375).toFixed(4))
})

test('a cost with an unknown part is unknown', () => {
  const usage = { promptTokens: 1_000, completionTokens: 10, cachedTokens: 500 }
  const { cachedInput: _, ...uncached } = price
  assert.equal(costOf(usage, uncached), undefined)
  assert.equal(costOf({ promptTokens: 300_000, completionTokens: 1 }, { ...price, upTo: 200_000 }), undefined)
  assert.equal(costOf({ promptTokens: 0, completionTokens: 0 }, uncached), 0)
})
