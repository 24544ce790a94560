import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defined } from './defined.ts'
import { ENDING_OF_FAILURE, type Failure, type FailureKind } from './failure.ts'
import { LADDER, type RecoveryContext, type Remedy, recover, WAIT_BUDGET_MS } from './recovery.ts'
import { STATUS_OF_STOP } from './run.ts'

const alone: RecoveryContext = {
  siblings: 0,
  canRefresh: false,
  canRebuild: false,
  canCompact: false,
  waitBudgetLeftMs: WAIT_BUDGET_MS,
  jitter: 0,
}
const withChain: RecoveryContext = { ...alone, nextTarget: 1 }
const withPool: RecoveryContext = { ...withChain, siblings: 1 }

const failure = (kind: FailureKind, more: Partial<Failure> = {}): Failure => ({ kind, detail: '', ...more })
const remedyFor = (kind: FailureKind, spent: Remedy[], at: RecoveryContext) => recover(failure(kind), spent, at).remedy

test('an overloaded or silent provider is left from its second failure', () => {
  for (const kind of ['overloaded', 'timeout', 'stalled', 'unreachable', 'cut-off'] as const) {
    assert.deepEqual(recover(failure(kind), [], withChain), { remedy: 'wait', delayMs: 500 })
    assert.deepEqual(recover(failure(kind), ['wait'], withChain), { remedy: 'next-target', nextTarget: 1 })
  }
})

test('with no target left it is waited for longer and longer, and then given up', () => {
  assert.deepEqual(recover(failure('overloaded'), ['wait'], alone), { remedy: 'wait', delayMs: 1_000 })
  assert.deepEqual(recover(failure('overloaded'), ['wait', 'wait'], alone), { remedy: 'wait', delayMs: 2_000 })
  assert.deepEqual(recover(failure('overloaded'), ['wait', 'wait', 'wait', 'wait'], alone), { remedy: 'give-up' })
})

test('those who were turned away together come back apart', () => {
  assert.deepEqual(recover(failure('overloaded'), [], { ...alone, jitter: 0.5 }), { remedy: 'wait', delayMs: 625 })
})

test('rate limits and empty accounts move on at once, unless another key can serve', () => {
  assert.equal(remedyFor('rate-limited', [], withChain), 'next-target')
  assert.equal(remedyFor('quota-exhausted', [], withChain), 'next-target')
  assert.equal(remedyFor('rate-limited', [], withPool), 'retry-credential')
  assert.equal(remedyFor('rate-limited', ['retry-credential'], withPool), 'next-credential')
  assert.equal(remedyFor('quota-exhausted', [], withPool), 'next-credential')
})

test('a key whose limit ends at a stated time is not asked once more before it is changed', () => {
  assert.equal(recover(failure('rate-limited', { retryAfterMs: 60_000 }), [], withPool).remedy, 'next-credential')
})

test('an empty account is never asked twice with the same key', () => {
  assert.equal(remedyFor('quota-exhausted', [], alone), 'give-up')
})

test('a rejected credential is renewed once, then changed, then left; it is never waited for', () => {
  const all = { ...withPool, canRefresh: true }
  assert.equal(remedyFor('auth-rejected', [], all), 'refresh-credential')
  assert.equal(remedyFor('auth-rejected', ['refresh-credential'], all), 'next-credential')
  assert.equal(remedyFor('auth-rejected', ['refresh-credential'], { ...withChain, canRefresh: true }), 'next-target')
  assert.equal(remedyFor('auth-rejected', ['refresh-credential'], alone), 'give-up')
})

test('before a primary is left for a transport error its connections are made anew, once', () => {
  const direct = { ...withChain, canRebuild: true }
  assert.deepEqual(recover(failure('cut-off'), ['wait'], direct), { remedy: 'rebuild-transport', delayMs: 4_000 })
  assert.equal(remedyFor('cut-off', ['wait', 'rebuild-transport'], direct), 'next-target')
  assert.equal(remedyFor('overloaded', ['wait'], direct), 'next-target', 'only for the transport')
})

test('what the provider asked for is honored, within the patience of the step', () => {
  const asking = (retryAfterMs: number, at = withChain) => recover(failure('overloaded', { retryAfterMs }), [], at)
  assert.deepEqual(asking(7_000), { remedy: 'wait', delayMs: 7_000 })
  assert.equal(asking(WAIT_BUDGET_MS + 1).remedy, 'next-target')
  assert.equal(asking(7_000, { ...withChain, waitBudgetLeftMs: 6_999 }).remedy, 'next-target')
})

test('a request that every target would reject is not sent to another', () => {
  assert.equal(remedyFor('invalid-request', [], withPool), 'give-up')
})

test('a stated window is adopted, then room is made, then another model is asked', () => {
  const room = { ...withChain, canCompact: true }
  const stated = failure('context-overflow', { statedWindow: 8_192 })
  assert.deepEqual(recover(stated, [], room), { remedy: 'adopt-window', window: 8_192 })
  assert.equal(recover(stated, ['adopt-window'], room).remedy, 'compact')
  assert.equal(recover(stated, ['adopt-window', 'compact'], room).remedy, 'next-target')
  assert.equal(remedyFor('context-overflow', [], room), 'compact')
})

test('an output cap is what the provider says is left, less a margin; one it does not state is not guessed', () => {
  const stated = failure('output-cap-too-large', { availableOutput: 1_064 })
  assert.deepEqual(recover(stated, [], alone), { remedy: 'cap-output', outputCap: 1_000 })
  assert.equal(remedyFor('output-cap-too-large', [], alone), 'give-up')
})

test('a truncated call is asked for again with a doubled limit, up to what the model takes', () => {
  const raise = (outputCap: number | undefined) =>
    recover(failure('call-truncated'), [], { ...alone, ...defined({ outputCap: outputCap || undefined }) })
  assert.deepEqual(raise(undefined), { remedy: 'raise-output-cap', outputCap: 8_192 })
  assert.deepEqual(raise(20_000), { remedy: 'raise-output-cap', outputCap: 32_768 })
  assert.equal(raise(32_768).remedy, 'give-up', 'the same limit would cut it off at the same place')
})

test('truncated text is continued three times and then stands as it is', () => {
  const spent: Remedy[] = []
  for (const _ of [1, 2, 3]) {
    assert.equal(remedyFor('text-truncated', spent, withChain), 'continue')
    spent.push('continue')
  }
  assert.equal(remedyFor('text-truncated', spent, withChain), 'give-up')
})

test('remedies spent on one failure count for the next, so that changing failures cannot go on for ever', () => {
  assert.equal(remedyFor('timeout', ['wait', 'wait'], alone), 'give-up')
})

test('every kind of failure comes to an end, and that end is a failed run', () => {
  for (const kind of Object.keys(LADDER) as FailureKind[]) {
    let spent: Remedy[] = []
    let at: RecoveryContext = { ...withPool, canRefresh: true, canRebuild: true, canCompact: true }
    let attempts = 0
    for (; ; attempts++) {
      assert.ok(attempts < 30, `${kind} goes on for ever`)
      const recovery = recover(failure(kind, { statedWindow: 9, availableOutput: 99 }), spent, at)
      if (recovery.remedy === 'give-up') break
      spent = recovery.remedy === 'next-target' ? [] : [...spent, recovery.remedy]
      if (recovery.remedy === 'next-target') at = { ...alone }
      if (recovery.remedy === 'next-credential') at = { ...at, siblings: 0 }
      if ('outputCap' in recovery) at = { ...at, outputCap: recovery.outputCap }
      if ('delayMs' in recovery) at = { ...at, waitBudgetLeftMs: at.waitBudgetLeftMs - recovery.delayMs }
    }
    assert.equal(STATUS_OF_STOP[ENDING_OF_FAILURE[kind].stopReason], 'failed')
  }
})
