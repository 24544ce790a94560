import assert from 'node:assert/strict'
import { test } from 'node:test'
import { slope } from './verdict.ts'

test('a growing curve is distinguished from a swinging one and from outliers', () => {
  const curve = (value: (at: number) => number) => Array.from({ length: 30 }, (_, at) => ({ at, value: value(at) }))
  assert.equal(slope(curve((at) => 10 + 3 * at)), 3)
  assert.equal(slope(curve(() => 10)), 0)
  assert.equal(slope(curve((at) => (at % 10 === 0 ? 1_000 : 10))), 0)
  assert.ok(Math.abs(slope(curve((at) => 10 + Math.sin(at)))) < 0.1)
})
