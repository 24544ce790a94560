import assert from 'node:assert/strict'
import { test } from 'node:test'
import { priceOf } from './model-prices.ts'

test("prices are known for a vendor's own models, with the day of the price", () => {
  assert.deepEqual(priceOf('anthropic', 'claude-sonnet-4-5-20250929'), {
    input: 3,
    output: 15,
    cachedInput: 0.3,
    cacheWrite: 3.75,
    asOf: '2026-10-10',
  })
  assert.equal(priceOf('openai', 'gpt-4o-2024-11-20')?.input, 2.5)
  assert.match(priceOf('openai', 'gpt-4o-2024-11-20')!.asOf, /^\d{4}-\d{2}-\d{2}$/)
})

test('a model whose name only starts like a known one, or that another vendor serves, has no price', () => {
  for (const [provider, model] of [
    ['openai', 'gpt-5-pro'],
    ['openai', 'o3-mini'],
    ['gemini', 'gemini-2.5-flash-lite'],
    ['openrouter', 'openai/gpt-4o'],
    ['ollama', 'gpt-4o'],
    ['openai', 'constructor'],
  ] as const)
    assert.equal(priceOf(provider, model), undefined, `${provider}/${model}`)
})
