import assert from 'node:assert/strict'
import { test } from 'node:test'
import { callbackOutcome, MAX_TRIES } from './callback.ts'

const now = 1_000_000

test('an answer in the two hundreds is the end of it', () => {
  for (const statusCode of [200, 204, 299])
    assert.deepEqual(callbackOutcome({ type: 'answered', statusCode }, { tries: 3, now }), { sentAt: now, statusCode })
})

test('what fails is tried again, each time later, and not for ever', () => {
  const waits: number[] = []
  for (let tries = 1; tries < MAX_TRIES; tries++) {
    const { dueAt, error } = callbackOutcome({ type: 'failed', detail: 'nobody is there' }, { tries, now })
    assert.match(error ?? '', new RegExp(`^Try ${tries} of ${MAX_TRIES}: nobody is there\\. It is tried again in`))
    waits.push(dueAt! - now)
  }
  assert.deepEqual(
    waits,
    waits.toSorted((one, other) => one - other),
  )
  const last = callbackOutcome({ type: 'answered', statusCode: 500 }, { tries: MAX_TRIES, now })
  assert.deepEqual([last.dueAt, last.statusCode], [undefined, 500])
  assert.match(last.error ?? '', /It is not tried again\.$/)
})

test('an address that is not allowed is not tried again', () => {
  const { dueAt, error } = callbackOutcome({ type: 'refused', detail: 'it is inside' }, { tries: 1, now })
  assert.equal(dueAt, undefined)
  assert.match(error ?? '', /it is inside\. It is not tried again\.$/)
})
