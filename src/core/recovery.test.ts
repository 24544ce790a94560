import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defined } from './defined.ts'
import { ENDING_OF_FAILURE, type Failure, type FailureKind } from './failure.ts'
import {
  BACKGROUND_WAIT_BUDGET_MS,
  LADDER,
  type RecoveryContext,
  type Remedy,
  recover,
  WAIT_BUDGET_MS,
} from './recovery.ts'
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

const THREE_WAITS: readonly Remedy[] = ['wait', 'wait', 'wait']

const failure = (kind: FailureKind, more: Partial<Failure> = {}): Failure => ({ kind, detail: '', ...more })
const remedyFor = (kind: FailureKind, spent: readonly Remedy[], at: RecoveryContext) =>
  recover(failure(kind), spent, at).remedy

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0)

/** The waits of a step in which every attempt fails in this way. */
function waitsOf(kind: FailureKind, at: RecoveryContext, more: Partial<Failure> = {}): number[] {
  const waits: number[] = []
  for (;;) {
    const waitBudgetLeftMs = at.waitBudgetLeftMs - sum(waits)
    const spent = waits.map((): Remedy => 'wait')
    const recovery = recover(failure(kind, more), spent, { ...at, waitBudgetLeftMs })
    if (!('delayMs' in recovery)) return waits
    waits.push(recovery.delayMs)
  }
}

test('an overloaded, failing or silent provider is retried three times with backoff before the turn fails over', () => {
  for (const kind of ['overloaded', 'server-error', 'timeout', 'stalled', 'unreachable', 'cut-off'] as const) {
    assert.deepEqual(recover(failure(kind), [], withChain), { remedy: 'wait', delayMs: 500 })
    assert.deepEqual(recover(failure(kind), ['wait'], withChain), { remedy: 'wait', delayMs: 1_000 })
    assert.deepEqual(recover(failure(kind), ['wait', 'wait'], withChain), { remedy: 'wait', delayMs: 2_000 })
    assert.deepEqual(recover(failure(kind), THREE_WAITS, withChain), { remedy: 'next-target', nextTarget: 1 })
  }
})

test('without another target a caller that waits is told soon, and a background run retries for its whole budget', () => {
  for (const kind of ['unreachable', 'server-error'] as const) {
    assert.equal(remedyFor(kind, THREE_WAITS, alone), 'give-up')
    const inBackground = { ...alone, isBackground: true, waitBudgetLeftMs: BACKGROUND_WAIT_BUDGET_MS }
    assert.deepEqual(waitsOf(kind, inBackground).slice(0, 8), [500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000])
    assert.equal(sum(waitsOf(kind, inBackground)), BACKGROUND_WAIT_BUDGET_MS)
  }
})

test('a rate limit without a pool or a chain is waited out for the whole budget, and never longer', () => {
  for (const kind of ['rate-limited', 'upstream-rate-limited'] as const) {
    assert.deepEqual(waitsOf(kind, alone), [500, 1_000, 2_000, 4_000, 8_000, 14_500])
    for (const jitter of [0, 0.37, 0.99]) {
      const inBackground = { ...alone, isBackground: true, waitBudgetLeftMs: BACKGROUND_WAIT_BUDGET_MS, jitter }
      assert.equal(sum(waitsOf(kind, inBackground)), BACKGROUND_WAIT_BUDGET_MS)
      assert.ok(waitsOf(kind, inBackground).length < 20, 'the waits grow')
    }
  }
})

test('a provider that repeats `retry-after: 0` is not asked without a pause', () => {
  const waits = waitsOf('rate-limited', alone, { retryAfterMs: 0 })
  assert.deepEqual(waits, [500, 1_000, 2_000, 4_000, 8_000, 14_500])
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
  assert.deepEqual(recover(failure('cut-off'), THREE_WAITS, direct), { remedy: 'rebuild-transport', delayMs: 6_000 })
  assert.equal(remedyFor('cut-off', [...THREE_WAITS, 'rebuild-transport'], direct), 'next-target')
  assert.equal(remedyFor('overloaded', THREE_WAITS, direct), 'next-target', 'only for the transport')
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

test('after an overflow the context is compacted for the window, then the window is lowered while it can be, then the turn fails over', () => {
  const room = { ...withChain, canCompact: true, smallerWindow: 8_192 }
  const overflow = failure('context-overflow')
  assert.deepEqual(recover(overflow, [], room), { remedy: 'compact', window: 8_192 })
  assert.deepEqual(recover(overflow, ['compact'], room), { remedy: 'adopt-window', window: 8_192 })
  assert.deepEqual(recover(overflow, ['compact', 'adopt-window', 'adopt-window'], room), {
    remedy: 'adopt-window',
    window: 8_192,
  })
  const { smallerWindow: _, ...least } = room
  assert.equal(recover(overflow, ['compact', 'adopt-window'], least).remedy, 'next-target')
})

test('only a summary is replaced by a mark, after its last target', () => {
  const overflow = failure('context-overflow')
  assert.equal(recover(overflow, [], { ...alone, canLeaveOut: true }).remedy, 'leave-out')
  assert.equal(recover(overflow, [], { ...withChain, canLeaveOut: true }).remedy, 'next-target')
  assert.equal(recover(overflow, [], alone).remedy, 'give-up')
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
  assert.equal(remedyFor('timeout', [...THREE_WAITS, 'wait'], alone), 'give-up')
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
