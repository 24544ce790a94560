import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cooldownFor, type FailedUse } from './cooldown.ts'
import { defined } from './defined.ts'
import { ENDING_OF_FAILURE, type FailureKind } from './failure.ts'

const AT = Date.UTC(2026, 0, 1)
const MINUTE = 60_000
const HOUR = 60 * MINUTE

const use = (kind: FailureKind, more: Partial<FailedUse> & { retryAfterMs?: number } = {}): FailedUse => {
  const { retryAfterMs, ...rest } = more
  const failure = { kind, detail: 'because', ...defined({ retryAfterMs }) }
  return { failure, grantId: 'credential-a', provider: 'openai', siblings: 1, at: AT, runId: 'run-1', ...rest }
}
const lengthOf = (failed: FailedUse) => {
  const cooldown = cooldownFor(failed)
  return cooldown && cooldown.until - AT
}

test('a credential with siblings gets a cooldown by failure kind, with the reason in the row', () => {
  assert.deepEqual(cooldownFor(use('auth-rejected')), {
    scope: 'credential',
    key: 'credential-a',
    provider: 'openai',
    reason: 'auth-rejected',
    detail: 'because',
    until: AT + 5 * MINUTE,
    runId: 'run-1',
    createdAt: AT,
  })
  assert.equal(lengthOf(use('rate-limited')), HOUR)
  assert.equal(lengthOf(use('quota-exhausted')), HOUR)
})

test('the last credential gets a cooldown only with a stated end', () => {
  for (const kind of ['auth-rejected', 'rate-limited', 'quota-exhausted', 'policy-blocked'] as const) {
    assert.equal(cooldownFor(use(kind, { siblings: 0 })), undefined)
    assert.equal(lengthOf(use(kind, { siblings: 0, retryAfterMs: 7_000 })), 7_000)
  }
})

test('an end the provider states replaces the default, up to a maximum', () => {
  assert.equal(lengthOf(use('rate-limited', { retryAfterMs: 1_500 })), 1_500)
  assert.equal(lengthOf(use('rate-limited', { retryAfterMs: 400 * 24 * HOUR })), 31 * 24 * HOUR)
  assert.equal(lengthOf(use('rate-limited', { retryAfterMs: 0 })), HOUR)
  assert.equal(lengthOf(use('rate-limited', { retryAfterMs: Number.NaN, siblings: 0 })), undefined)
})

test('other failure kinds cause no cooldown, even with a stated end', () => {
  const resting = ['auth-rejected', 'rate-limited', 'quota-exhausted', 'policy-blocked']
  for (const kind of Object.keys(ENDING_OF_FAILURE) as FailureKind[]) {
    if (resting.includes(kind)) continue
    assert.equal(cooldownFor(use(kind, { retryAfterMs: 5_000 })), undefined, kind)
  }
})
