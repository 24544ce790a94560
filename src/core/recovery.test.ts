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

test('an overloaded or silent provider fails over at its second failure', () => {
  for (const kind of ['overloaded', 'timeout', 'stalled', 'unreachable', 'cut-off'] as const) {
    assert.deepEqual(recover(failure(kind), [], withChain), { remedy: 'wait', delayMs: 500 })
    assert.deepEqual(recover(failure(kind), ['wait'], withChain), { remedy: 'next-target', nextTarget: 1 })
  }
})

test('without another target the waits grow, and then the turn gives up', () => {
  assert.deepEqual(recover(failure('overloaded'), ['wait'], alone), { remedy: 'wait', delayMs: 1_000 })
  assert.deepEqual(recover(failure('overloaded'), ['wait', 'wait'], alone), { remedy: 'wait', delayMs: 2_000 })
  assert.deepEqual(recover(failure('overloaded'), ['wait', 'wait', 'wait', 'wait'], alone), { remedy: 'give-up' })
})

test('jitter spreads retries that were rejected together', () => {
  assert.deepEqual(recover(failure('overloaded'), [], { ...alone, jitter: 0.5 }), { remedy: 'wait', delayMs: 625 })
})

test('rate limits and exhausted quotas fail over at once, unless another key is usable', () => {
  assert.equal(remedyFor('rate-limited', [], withChain), 'next-target')
  assert.equal(remedyFor('quota-exhausted', [], withChain), 'next-target')
  assert.equal(remedyFor('rate-limited', [], withPool), 'retry-credential')
  assert.equal(remedyFor('rate-limited', ['retry-credential'], withPool), 'next-credential')
  assert.equal(remedyFor('quota-exhausted', [], withPool), 'next-credential')
})

test('a key with a stated retry time is not tried again before the next key is used', () => {
  assert.equal(recover(failure('rate-limited', { retryAfterMs: 60_000 }), [], withPool).remedy, 'next-credential')
})

test('an exhausted quota is never tried twice with the same key', () => {
  assert.equal(remedyFor('quota-exhausted', [], alone), 'give-up')
})

test('a rejected credential is refreshed once, then replaced, then the turn fails over; it never waits', () => {
  const all = { ...withPool, canRefresh: true }
  assert.equal(remedyFor('auth-rejected', [], all), 'refresh-credential')
  assert.equal(remedyFor('auth-rejected', ['refresh-credential'], all), 'next-credential')
  assert.equal(remedyFor('auth-rejected', ['refresh-credential'], { ...withChain, canRefresh: true }), 'next-target')
  assert.equal(remedyFor('auth-rejected', ['refresh-credential'], alone), 'give-up')
})

test('the connections of a primary are rebuilt once before a transport error fails over', () => {
  const direct = { ...withChain, canRebuild: true }
  assert.deepEqual(recover(failure('cut-off'), ['wait'], direct), { remedy: 'rebuild-transport', delayMs: 4_000 })
  assert.equal(remedyFor('cut-off', ['wait', 'rebuild-transport'], direct), 'next-target')
  assert.equal(remedyFor('overloaded', ['wait'], direct), 'next-target', 'only for the transport')
})

test('a stated retry-after is honored within the wait budget of the step', () => {
  const asking = (retryAfterMs: number, at = withChain) => recover(failure('overloaded', { retryAfterMs }), [], at)
  assert.deepEqual(asking(7_000), { remedy: 'wait', delayMs: 7_000 })
  assert.equal(asking(WAIT_BUDGET_MS + 1).remedy, 'next-target')
  assert.equal(asking(7_000, { ...withChain, waitBudgetLeftMs: 6_999 }).remedy, 'next-target')
})

test('a request that every target would reject is not sent to another target', () => {
  assert.equal(remedyFor('invalid-request', [], withPool), 'give-up')
})

test('a stated window is adopted, then the context is compacted, then the turn fails over', () => {
  const room = { ...withChain, canCompact: true }
  const stated = failure('context-overflow', { statedWindow: 8_192 })
  assert.deepEqual(recover(stated, [], room), { remedy: 'adopt-window', window: 8_192 })
  assert.equal(recover(stated, ['adopt-window'], room).remedy, 'compact')
  assert.equal(recover(stated, ['adopt-window', 'compact'], room).remedy, 'next-target')
  assert.equal(remedyFor('context-overflow', [], room), 'compact')
})

test('the output cap is the stated limit less a margin; without a stated limit there is none', () => {
  const stated = failure('output-cap-too-large', { availableOutput: 1_064 })
  assert.deepEqual(recover(stated, [], alone), { remedy: 'cap-output', outputCap: 1_000 })
  assert.equal(remedyFor('output-cap-too-large', [], alone), 'give-up')
})

test('a truncated call is requested again with a doubled output limit, up to the maximum of the model', () => {
  const raise = (outputCap: number | undefined) =>
    recover(failure('call-truncated'), [], { ...alone, ...defined({ outputCap: outputCap || undefined }) })
  assert.deepEqual(raise(undefined), { remedy: 'raise-output-cap', outputCap: 8_192 })
  assert.deepEqual(raise(20_000), { remedy: 'raise-output-cap', outputCap: 32_768 })
  assert.equal(raise(32_768).remedy, 'give-up', 'the same limit would cut it off at the same place')
})

test('truncated text is continued three times and then kept as it is', () => {
  const spent: Remedy[] = []
  for (const _ of [1, 2, 3]) {
    assert.equal(remedyFor('text-truncated', spent, withChain), 'continue')
    spent.push('continue')
  }
  assert.equal(remedyFor('text-truncated', spent, withChain), 'give-up')
})

test('remedies spent on one failure count for the next, so that alternating failures end', () => {
  assert.equal(remedyFor('timeout', ['wait', 'wait'], alone), 'give-up')
})

test('every failure kind ends its ladder, and its end is a failed run', () => {
  for (const kind of Object.keys(LADDER) as FailureKind[]) {
    let spent: Remedy[] = []
    let at: RecoveryContext = { ...withPool, canRefresh: true, canRebuild: true, canCompact: true }
    let attempts = 0
    for (; ; attempts++) {
      assert.ok(attempts < 30, `${kind} never ends`)
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
