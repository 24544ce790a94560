import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ModelProvider } from '../../src/ports/model.ts'
import type { Answer, Reply } from '../../src/simulator/script.ts'
import { signIn } from './connection-remedies.ts'
import { assertAnswered, exchange, keysOf, modelsOf, openRecoveryFixture } from './fixture-recovery.ts'

// When a turn fails over, to which target, and when it does not.

const HELLO: Reply = { text: 'Hello.' }
const CLAUDE = 'anthropic/claude-sonnet-4-5'

const AT_ONCE: [string, string, Answer][] = [
  ['a rate limit', 'rate-limited', { error: 'rate-limit' }],
  ['an exhausted quota', 'quota-exhausted', { error: 'insufficient-quota' }],
  ['an unpaid account', 'quota-exhausted', { error: 'payment-required' }],
  ['a rate limit behind an aggregator', 'upstream-rate-limited', { error: 'upstream-429' }],
  ['a model that does not exist', 'model-unknown', { error: 'model-not-found' }],
  ['a request blocked by account policy', 'policy-blocked', { error: 'policy-blocked' }],
  ['a content filter', 'content-refused', { error: 'content-policy' }],
  ['a refusal', 'content-refused', { refusal: 'I would rather not.' }],
]

for (const [name, kind, answer] of AT_ONCE)
  test(`${name} fails over at once`, async (context) => {
    const setup = await openRecoveryFixture(context, {
      chain: ['openrouter/first', CLAUDE],
      environment: { OPENROUTER_API_KEY: 'key-1' },
      script: [{ when: { model: 'first' }, answer }, { answer: HELLO }],
    })
    const first = await exchange(setup, 'one')
    assertAnswered(first, 'Hello.', [`${kind} → next-target`])
    assert.deepEqual(modelsOf(first.sent), ['first', 'claude-sonnet-4-5'])
  })

test('a refusal without another target ends the run as a refusal', async (context) => {
  const setup = await openRecoveryFixture(context, { script: [{ answer: { refusal: 'I would rather not.' } }] })
  const { run, story, after } = await exchange(setup, 'one')
  assert.deepEqual(story, ['content-refused → give-up'])
  assert.equal(run.stopReason, 'llm_api_error')
  assert.deepEqual(after, [])
})

test('an invalid request does not fail over: it would be invalid at every target', async (context) => {
  const setup = await openRecoveryFixture(context, {
    chain: ['openai/first', CLAUDE],
    script: [{ answer: { error: 'invalid-request' } }],
  })
  const { run, story, sent } = await exchange(setup, 'one')
  assert.deepEqual(story, ['invalid-request → give-up'])
  assert.equal(run.status, 'failed')
  assert.equal(sent.length, 1)
})

for (const error of ['overloaded', 'overloaded-as-429', 'gateway-timeout'] as const)
  test(`${error} is retried three times before the turn fails over`, async (context) => {
    const setup = await openRecoveryFixture(context, {
      chain: ['openrouter/first', CLAUDE],
      script: [{ when: { model: 'first' }, answer: { error } }, { answer: HELLO }],
    })
    const first = await exchange(setup, 'one')
    assert.equal(first.run.stopReason, 'end_turn')
    assert.deepEqual(
      first.story.map((line) => line.split(' → ')[1]),
      ['wait', 'wait', 'wait', 'next-target'],
    )
  })

test('a rate-limited key with a sibling does not fail over: it is retried once, then its sibling is used', async (context) => {
  const setup = await openRecoveryFixture(context, {
    chain: ['openai/first', CLAUDE],
    environment: { OPENAI_API_KEY: 'key-1,key-2' },
    script: [{ when: { key: 'key-1' }, answer: { error: 'rate-limit' } }, { answer: HELLO }],
  })
  const first = await exchange(setup, 'one')
  assertAnswered(first, 'Hello.', ['rate-limited → retry-credential', 'rate-limited → next-credential'])
  assert.deepEqual(keysOf(first.sent), ['key-1', 'key-1', 'key-2'])
})

test('each key has its own retry: the count restarts when the key changes', async (context) => {
  const setup = await openRecoveryFixture(context, {
    chain: ['openai/first', CLAUDE],
    environment: { OPENAI_API_KEY: 'key-1,key-2,key-3' },
    script: [{ when: { model: 'first' }, answer: { error: 'rate-limit' } }, { answer: HELLO }],
  })
  const first = await exchange(setup, 'one')
  assert.equal(first.run.stopReason, 'end_turn')
  assert.deepEqual(keysOf(first.sent), ['key-1', 'key-1', 'key-2', 'key-2', 'key-3', 'key-of-anthropic'])
  assert.equal(first.story.at(-1), 'rate-limited → next-target')
})

test('a key that failed in this step is not used again in it, although its cooldown is over', async (context) => {
  const setup = await openRecoveryFixture(context, {
    chain: ['openai/first', CLAUDE],
    environment: { OPENAI_API_KEY: 'key-1,key-2' },
    script: [
      { when: { key: 'key-2' }, times: 1, answer: { error: 'overloaded', headers: { 'retry-after': '5' } } },
      { when: { model: 'first' }, answer: { error: 'rate-limit', retryAfterSeconds: 1 } },
      { answer: HELLO },
    ],
  })
  const first = await exchange(setup, 'one')
  assertAnswered(first, 'Hello.', ['rate-limited → next-credential', 'overloaded → wait', 'rate-limited → next-target'])
  assert.deepEqual(keysOf(first.sent), ['key-1', 'key-2', 'key-2', 'key-of-anthropic'])
})

test('a failure counts for the credential that made the request', async (context) => {
  const setup = await openRecoveryFixture(context, {
    environment: { OPENAI_API_KEY: 'key-1,key-2' },
    keys: { 'key-1': 'out-of-credit', 'key-2': 'valid' },
    script: [{ answer: HELLO }],
  })
  const { failures, run } = await exchange(setup, 'one')
  assert.equal(failures[0]?.credentialId, 'credential-env-OPENAI_API_KEY')
  const answer = (await setup.fixture.events(run.id)).find((event) => event.type === 'answer-received')
  assert.ok(answer?.type === 'answer-received')
  assert.equal(answer.credentialId, 'credential-env-OPENAI_API_KEY-2')
})

test('an account without credit: its other models are skipped', async (context) => {
  const setup = await openRecoveryFixture(context, {
    chain: ['openai/first', 'openai/second', CLAUDE],
    script: [{ when: { protocol: 'openai-chat' }, answer: { error: 'payment-required' } }, { answer: HELLO }],
  })
  const first = await exchange(setup, 'one')
  assertAnswered(first, 'Hello.', ['quota-exhausted → next-target'])
  assert.deepEqual(modelsOf(first.sent), ['first', 'claude-sonnet-4-5'])
  assert.equal(first.failures[0]?.nextTarget, 2)
})

test('an unreachable endpoint: other targets at the same endpoint are skipped', async (context) => {
  const nowhere = 'http://127.0.0.1:9/v1'
  const setup = await openRecoveryFixture(context, {
    chain: ['custom/first', 'ollama/second', CLAUDE],
    providers: { custom: { base_url: nowhere }, ollama: { base_url: nowhere } },
    script: [{ answer: HELLO }],
  })
  const first = await exchange(setup, 'one')
  assert.equal(first.run.stopReason, 'end_turn')
  assert.equal(first.failures.at(-1)?.nextTarget, 2)
})

test('a failing deployment: a target with the same deployment is skipped, another model at the same endpoint is not', async (context) => {
  const setup = await openRecoveryFixture(context, {
    chain: ['custom/first', 'ollama/first', 'ollama/second'],
    script: [{ when: { model: 'first' }, answer: { error: 'server-error' } }, { answer: HELLO }],
  })
  const first = await exchange(setup, 'one')
  assertAnswered(first, 'Hello.', [...Array<string>(3).fill('server-error → wait'), 'server-error → next-target'])
  assert.deepEqual(modelsOf(first.sent), ['first', 'first', 'first', 'first', 'second'])
  assert.equal(first.failures.at(-1)?.nextTarget, 2)
})

test('if every remaining target shares the failed part, the turn ends with the reason', async (context) => {
  const setup = await openRecoveryFixture(context, {
    chain: ['openai/first', 'openai/second'],
    script: [{ answer: { error: 'payment-required' } }],
  })
  const { run, story } = await exchange(setup, 'one')
  assert.deepEqual(story, ['quota-exhausted → give-up'])
  assert.equal(run.stopReason, 'insufficient_credits')
  assert.match(run.error?.detail ?? '', /What to do: /)
})

test('a refreshed token without credit is refreshed again by the entitlement check', async (context) => {
  const flows: Record<string, object> = { nous: {} }
  const setup = await openRecoveryFixture(context, {
    chain: ['nous/m'],
    environment: { NOUS_API_KEY: '' },
    flows,
    script: [
      { when: { key: 'access-1' }, answer: { error: 'expired' } },
      { when: { key: 'access-2' }, answer: { error: 'payment-required' } },
      { answer: HELLO },
    ],
  })
  const { url } = setup.simulator
  Object.assign(flows.nous!, { tokenUrl: `${url}/oauth/token`, accountUrl: `${url}/account` })
  await signIn(setup, 'nous', { flow: 'nous' })
  const first = await exchange(setup, 'one')
  assertAnswered(first, 'Hello.', ['auth-rejected → refresh-credential', 'quota-exhausted → refresh-entitlement'])
  assert.deepEqual(
    first.sent.filter(({ protocol }) => protocol === 'openai-chat').map(({ key }) => key),
    ['access-1', 'access-2', 'access-3'],
  )
})

test('connections are rebuilt once, and not again when the key changes later', async (context) => {
  const failures = [...Array<'unreachable'>(4).fill('unreachable'), 'rate-limited', 'rate-limited'] as const
  let asked = 0
  let renewals = 0
  const provider: ModelProvider = {
    endpoint: { baseUrl: 'http://127.0.0.1:9/v1', isAggregator: false },
    async *stream() {
      const kind = failures[asked++]
      if (kind) yield { type: 'failure', failure: { kind, detail: kind } }
      else yield* [{ type: 'text-delta', text: 'Hello.' } as const, { type: 'finish', finish: 'stop' } as const]
    },
    async renewConnections() {
      renewals++
    },
  }
  const setup = await openRecoveryFixture(context, {
    chain: ['pooled/first'],
    providers: { pooled: { base_url: 'http://127.0.0.1:9/v1' } },
    environment: { POOLED_API_KEY: 'key-1,key-2' },
    others: () => ({ pooled: provider }),
  })
  assertAnswered(await exchange(setup, 'one'), 'Hello.', [
    ...Array<string>(3).fill('unreachable → wait'),
    'unreachable → rebuild-transport',
    'rate-limited → retry-credential',
    'rate-limited → next-credential',
  ])
  assert.equal(renewals, 1)
})
