import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ENDING_OF_FAILURE, type FailureKind } from './failure.ts'
import { LADDER, LONGEST_WAIT_MS, type Remedy, recover } from './recovery.ts'
import { STATUS_OF_STOP } from './run.ts'

const overloaded = { kind: 'overloaded', detail: 'busy' } as const
const more = { targetsLeft: 1 }
const none = { targetsLeft: 0 }

test('an overloaded provider is waited for twice, each time longer, then left', () => {
  assert.deepEqual(recover(overloaded, [], more), { remedy: 'wait', delayMs: 500 })
  assert.deepEqual(recover(overloaded, ['wait'], more), { remedy: 'wait', delayMs: 1_000 })
  assert.deepEqual(recover(overloaded, ['wait', 'wait'], more), { remedy: 'next-target', delayMs: 0 })
})

test('with no target left the turn gives up instead of turning in circles', () => {
  assert.deepEqual(recover(overloaded, ['wait', 'wait'], none), { remedy: 'give-up' })
})

test('what the provider asked for is honoured, up to a bound', () => {
  const asking = (retryAfterMs: number) => recover({ ...overloaded, retryAfterMs }, [], more)
  assert.deepEqual(asking(7_000), { remedy: 'wait', delayMs: 7_000 })
  assert.deepEqual(asking(LONGEST_WAIT_MS), { remedy: 'wait', delayMs: LONGEST_WAIT_MS })
  assert.deepEqual(asking(LONGEST_WAIT_MS + 1), { remedy: 'next-target', delayMs: 0 })
})

test('a rejected credential is never waited for', () => {
  assert.deepEqual(recover({ kind: 'auth-rejected', detail: '401' }, [], more), { remedy: 'next-target', delayMs: 0 })
})

test('a request that every target would reject is not sent to another', () => {
  assert.deepEqual(recover({ kind: 'invalid-request', detail: '400' }, [], more), { remedy: 'give-up' })
})

test('waits spent on one failure count for the next, so that changing failures cannot go on for ever', () => {
  assert.equal(recover({ kind: 'timeout', detail: '' }, ['wait'], none).remedy, 'give-up')
})

test('every kind of failure comes to an end, and that end is a failed run', () => {
  for (const kind of Object.keys(LADDER) as FailureKind[]) {
    const spent: Remedy[] = []
    let targetsLeft = 2
    for (let attempts = 0; ; attempts++) {
      assert.ok(attempts < 20, `${kind} goes on for ever`)
      const { remedy } = recover({ kind, detail: '' }, spent, { targetsLeft })
      if (remedy === 'give-up') break
      if (remedy === 'next-target') targetsLeft--
      else spent.push(remedy)
    }
    assert.equal(STATUS_OF_STOP[ENDING_OF_FAILURE[kind].stopReason], 'failed')
  }
})
