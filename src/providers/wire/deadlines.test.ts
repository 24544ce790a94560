import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deadlinesFor } from './deadlines.ts'

test('long requests get longer deadlines, in two steps', () => {
  const at = (tokens: number) => deadlinesFor({}, tokens * 4)
  assert.deepEqual(at(50_000), { connectMs: 10_000, firstByteMs: 120_000, stallMs: 60_000 })
  assert.deepEqual(at(50_001), { connectMs: 10_000, firstByteMs: 180_000, stallMs: 90_000 })
  assert.deepEqual(at(100_001), { connectMs: 10_000, firstByteMs: 240_000, stallMs: 120_000 })
})

test('configured deadlines do not grow with the request', () => {
  const set = { connectMs: 1, firstByteMs: 2, stallMs: 3 }
  assert.deepEqual(deadlinesFor(set, 10_000_000), set)
  assert.equal(deadlinesFor({ stallMs: 3 }, 10_000_000).firstByteMs, 240_000)
})
