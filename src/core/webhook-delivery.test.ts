import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deliveryOutcome, MAX_TRIES } from './webhook-delivery.ts'

const now = 1_000_000

test('a 2xx status completes the delivery', () => {
  for (const statusCode of [200, 204, 299])
    assert.deepEqual(deliveryOutcome({ type: 'answered', statusCode }, { tries: 3, now }), { sentAt: now, statusCode })
})

test('a failed delivery is retried with growing backoff, a limited number of times', () => {
  const waits: number[] = []
  for (let tries = 1; tries < MAX_TRIES; tries++) {
    const { dueAt, error } = deliveryOutcome({ type: 'failed', detail: 'connection refused' }, { tries, now })
    assert.match(
      error ?? '',
      new RegExp(`^Attempt ${tries} of ${MAX_TRIES}: connection refused\\. The next attempt is in`),
    )
    waits.push(dueAt! - now)
  }
  assert.deepEqual(
    waits,
    waits.toSorted((one, other) => one - other),
  )
  const last = deliveryOutcome({ type: 'answered', statusCode: 500 }, { tries: MAX_TRIES, now })
  assert.deepEqual([last.dueAt, last.statusCode], [undefined, 500])
  assert.match(last.error ?? '', /There is no further attempt\.$/)
})

test('an address that is not allowed is not retried', () => {
  const { dueAt, error } = deliveryOutcome({ type: 'refused', detail: 'it is inside' }, { tries: 1, now })
  assert.equal(dueAt, undefined)
  assert.match(error ?? '', /it is inside\. There is no further attempt\.$/)
})
