import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newBucket, newBuckets } from './rate-limit.ts'

test('a burst passes, then requests pass at the rate, and the returned wait is long enough', () => {
  const bucket = newBucket({ perSecond: 2, burst: 3 })
  assert.deepEqual([bucket.take(0), bucket.take(0), bucket.take(0)], [0, 0, 0])
  const wait = bucket.take(0)
  assert.equal(wait, 500)
  assert.equal(bucket.take(wait), 0)
  assert.ok(bucket.take(wait) > 0)
})

test('tokens never exceed the burst, and a clock that goes back earns none', () => {
  const bucket = newBucket({ perSecond: 10, burst: 2 })
  for (const now of [0, 0, 1_000_000, 1_000_000]) assert.equal(bucket.take(now), 0)
  assert.ok(bucket.take(1_000_000) > 0)
  assert.ok(bucket.take(0) > 0)
})

test('each name has its own bucket, and the least recently used buckets are dropped', () => {
  const buckets = newBuckets(2, () => newBucket({ perSecond: 1, burst: 1 }))
  const take = (name: string) => buckets.of(name).take(0)
  assert.deepEqual([take('a'), take('b'), take('a') > 0], [0, 0, true])
  assert.equal(take('c'), 0)
  assert.ok(take('a') > 0)
  assert.equal(take('b'), 0)
})
