import assert from 'node:assert/strict'
import { test } from 'node:test'
import { realRandomness } from '../../src/config/real-randomness.ts'
import { openSecretKeys } from '../../src/config/secret-key.ts'
import { DEFAULT_ORGANIZATION } from '../../src/core/id.ts'
import { newCredentialPool } from '../../src/providers/credentials/credential-pool.ts'
import { clearCooldowns } from '../../src/service/credentials/cooldowns.ts'
import type { Reply } from '../../src/simulator/script.ts'
import { openSqliteStore } from '../../src/storage/sqlite.ts'
import type { WiredFixture } from '../harness/fixture-wired.ts'
import { assertAnswered, exchange, keysOf, modelsOf, openRecoveryFixture } from './fixture-recovery.ts'

// Only a cooldown outlives a turn: a row with its reason and its end. It is written if the provider states an end, or
// for a credential with siblings; every process obeys it, the run records it, and success clears it.

const HELLO: Reply = { text: 'Hello.' }
const CLAUDE = 'anthropic/claude-sonnet-4-5'
const FIRST = 'credential-env-OPENAI_API_KEY'
const HOUR_MS = 3_600_000

for (const error of ['rate-limit', 'server-error', 'forbidden', 'payment-required'] as const)
  test(`${error} without a stated end: the last credential gets no cooldown, and the next turn uses it first`, async (context) => {
    const setup = await openRecoveryFixture(context, {
      chain: ['openai/first', CLAUDE],
      environment: { OPENAI_API_KEY: 'key-1' },
      script: [{ when: { model: 'first' }, answer: { error } }, { answer: HELLO }],
    })
    await exchange(setup, 'one')
    assert.deepEqual(await setup.fixture.cooldowns(), [])
    assert.equal(modelsOf((await exchange(setup, 'two')).sent)[0], 'first')
  })

test('the next turn obeys a stated end and names the skipped provider and the time', async (context) => {
  const setup = await openRecoveryFixture(context, {
    chain: ['openai/first', CLAUDE],
    environment: { OPENAI_API_KEY: 'key-1' },
    script: [{ when: { model: 'first' }, answer: { error: 'rate-limit', retryAfterSeconds: 600 } }, { answer: HELLO }],
  })
  const first = await exchange(setup, 'one')
  assertAnswered(first, 'Hello.', ['rate-limited → next-target'])
  const [rest] = await setup.fixture.cooldowns()
  assert.deepEqual([rest?.key, rest?.reason, rest?.runId], [FIRST, 'rate-limited', first.run.id])
  assertAbout(rest!.until - setup.fixture.clock.now(), 600_000)

  const second = await exchange(setup, 'two')
  assertAnswered(second, 'Hello.', ['cooling-down → next-target'])
  assert.deepEqual(modelsOf(second.sent), ['claude-sonnet-4-5'], 'the primary gets no request')
  const passed = second.failures[0]!
  const end = new Date(rest!.until).toISOString()
  assert.ok(passed.failure.detail.includes('openai') && passed.failure.detail.includes(end), passed.failure.detail)
  const failed = (await setup.fixture.chunks(second.run.id)).find((chunk) => chunk.message_type === 'attempt_failed')
  assert.ok(failed?.message_type === 'attempt_failed')
  assert.deepEqual([failed.target, failed.next_target], ['openai/first', CLAUDE])
  assert.ok(failed.detail.includes(end))
})

test('a cooldown is obeyed after a restart and by another process on the same home', async (context) => {
  const setup = await openRecoveryFixture(context, {
    chain: ['openai/first', CLAUDE],
    environment: { OPENAI_API_KEY: 'key-1' },
    script: [
      { when: { model: 'first' }, times: 1, answer: { error: 'rate-limit', retryAfterSeconds: 600 } },
      { answer: HELLO },
    ],
  })
  const { fixture } = setup
  await exchange(setup, 'one')
  await fixture.restart()
  assertAnswered(await exchange(setup, 'two'), 'Hello.', ['cooling-down → next-target'])
  const { store, chunks } = await openSqliteStore({
    home: fixture.home,
    clock: fixture.clock,
    durability: 'relaxed',
    role: 'guest',
  })
  context.after(async () => {
    await chunks.close()
    await store.close()
  })
  const other = newCredentialPool({
    organizationId: DEFAULT_ORGANIZATION,
    store,
    box: openSecretKeys(fixture.home).box,
    clock: fixture.clock,
    randomness: realRandomness,
    report: () => {},
    environment: [{ provider: 'openai', variable: 'OPENAI_API_KEY', read: () => 'key-1' }],
  })
  const choice = await other.choose('openai', { setAside: [], at: fixture.clock.now() })
  assert.equal(choice.type, 'cooling')
})

test('success clears a stored cooldown', async (context) => {
  const setup = await openRecoveryFixture(context, {
    chain: ['openai/first', CLAUDE],
    environment: { OPENAI_API_KEY: 'key-1' },
    script: [
      { when: { model: 'first' }, times: 1, answer: { error: 'rate-limit', retryAfterSeconds: 600 } },
      { answer: HELLO },
    ],
  })
  await exchange(setup, 'one')
  assert.equal((await recorded(setup.fixture)).length, 1)
  setup.fixture.clock.skip(601_000)
  const second = await exchange(setup, 'two')
  assertAnswered(second, 'Hello.', [])
  assert.deepEqual(modelsOf(second.sent), ['first'])
  assert.deepEqual(await recorded(setup.fixture), [])
})

test('an operator can clear a cooldown, and the next turn uses the primary', async (context) => {
  const setup = await openRecoveryFixture(context, {
    chain: ['openai/first', CLAUDE],
    environment: { OPENAI_API_KEY: 'key-1' },
    script: [
      { when: { model: 'first' }, times: 1, answer: { error: 'rate-limit', retryAfterSeconds: 600 } },
      { answer: HELLO },
    ],
  })
  await exchange(setup, 'one')
  assert.deepEqual(await clearCooldowns({ provider: 'openai' }, setup.fixture.context), { cleared: 1 })
  assertAnswered(await exchange(setup, 'two'), 'Hello.', [])
})

test('a rate-limited key with siblings cools down for an hour, and its sibling serves the turns of that hour', async (context) => {
  const setup = await openRecoveryFixture(context, {
    environment: { OPENAI_API_KEY: 'key-1,key-2' },
    script: [{ when: { key: 'key-1' }, times: 2, answer: { error: 'rate-limit' } }, { answer: HELLO }],
  })
  await exchange(setup, 'one')
  const [rest] = await setup.fixture.cooldowns()
  assert.equal(rest?.key, FIRST)
  assertAbout(rest!.until - setup.fixture.clock.now(), HOUR_MS)
  assert.deepEqual(keysOf((await exchange(setup, 'two')).sent), ['key-2'])
  setup.fixture.clock.skip(HOUR_MS)
  assert.deepEqual(keysOf((await exchange(setup, 'three')).sent), ['key-1'])
  assert.deepEqual(await recorded(setup.fixture), [], 'success clears the cooldown')
})

test('without a chain a turn waits for a stated end that is soon, and fails with the time otherwise', async (context) => {
  const setup = await openRecoveryFixture(context, {
    environment: { OPENAI_API_KEY: 'key-1' },
    script: [
      { times: 1, answer: { error: 'rate-limit', retryAfterSeconds: 12 } },
      { times: 1, answer: HELLO },
      { times: 1, answer: { error: 'rate-limit', retryAfterSeconds: 300 } },
      { answer: HELLO },
    ],
  })
  const soon = await exchange(setup, 'one')
  assertAnswered(soon, 'Hello.', ['rate-limited → wait'])
  assert.equal(soon.failures[0]?.waitMs, 12_000)
  const late = await exchange(setup, 'two')
  assert.deepEqual(late.story, ['rate-limited → give-up'])
  assert.equal(late.run.error?.errorType, 'llm_rate_limit')
  const later = await exchange(setup, 'three')
  assert.deepEqual(later.story, ['cooling-down → give-up'])
  assert.equal(later.sent.length, 0, 'no request is sent during the cooldown')
  setup.fixture.clock.skip(301_000)
  assertAnswered(await exchange(setup, 'four'), 'Hello.', [])
})

test('a stated end may be a date', async (context) => {
  const end = new Date(Date.now() + 20_000).toUTCString()
  const setup = await openRecoveryFixture(context, {
    script: [{ times: 1, answer: { error: 'rate-limit', headers: { 'retry-after': end } } }, { answer: HELLO }],
  })
  const first = await exchange(setup, 'one')
  assertAnswered(first, 'Hello.', ['rate-limited → wait'])
  const { waitMs = 0 } = first.failures[0]!
  assert.ok(waitMs > 10_000 && waitMs <= 20_000, `${waitMs}`)
})

test('all waits of one foreground step stay within thirty seconds', async (context) => {
  const setup = await openRecoveryFixture(context, {
    script: [{ answer: { error: 'overloaded', headers: { 'retry-after': '12' } } }],
  })
  const { run, failures } = await exchange(setup, 'one')
  assert.equal(run.status, 'failed')
  const waited = failures.reduce((sum, { waitMs = 0 }) => sum + waitMs, 0)
  assert.equal(waited, 24_000)
})

test('all waits of one background step stay within ten minutes', async (context) => {
  const setup = await openRecoveryFixture(context, {
    longestJumpMs: 600_000,
    script: [{ answer: { error: 'rate-limit', retryAfterSeconds: 250 } }],
  })
  const { run, failures } = await exchange(setup, 'one', { background: true })
  assert.equal(run.status, 'failed')
  assert.deepEqual(
    failures.map(({ waitMs }) => waitMs),
    [250_000, 250_000, undefined],
  )
})

test('the waits of a summary count towards the wait budget of its answer', async (context) => {
  const long = 'Many words. '.repeat(600)
  const limited = { error: 'rate-limit', retryAfterSeconds: 20 } as const
  const setup = await openRecoveryFixture(context, {
    script: [
      { when: { lastContains: 'two', messagesAbove: 3 }, times: 1, answer: limited },
      { when: { contains: 'Summarize the conversation' }, answer: limited },
      { when: { lastContains: 'two', messagesAbove: 3 }, answer: { error: 'context-overflow' } },
      { answer: { text: long } },
    ],
  })
  await exchange(setup, 'one')
  const { failures, story } = await exchange(setup, 'two')
  assert.deepEqual(story.slice(0, 3), ['rate-limited → wait', 'context-overflow → compact', 'rate-limited → give-up'])
  const waited = failures.reduce((sum, { waitMs = 0 }) => sum + waitMs, 0)
  assert.ok(waited <= 30_000, `${waited}`)
})

test('each step of a turn has its own wait budget', async (context) => {
  const { tool } = await import('../harness/tools.ts')
  const limited = { error: 'rate-limit', retryAfterSeconds: 20 } as const
  const setup = await openRecoveryFixture(context, {
    tools: [tool('look')],
    script: [
      { times: 1, answer: limited },
      { times: 1, answer: { calls: [{ id: 'c1', name: 'look' }] } },
      { times: 1, answer: limited },
      { answer: HELLO },
    ],
  })
  assertAnswered(await exchange(setup, 'one'), 'Hello.', ['rate-limited → wait', 'rate-limited → wait'])
})

/** Includes expired cooldowns. */
const recorded = async (fixture: WiredFixture) =>
  (await fixture.context.deps.store.credentials.pool(DEFAULT_ORGANIZATION, 'openai')).cooldowns

function assertAbout(ms: number, expected: number): void {
  assert.ok(ms > expected - 20_000 && ms <= expected, `${ms} is not about ${expected}`)
}
