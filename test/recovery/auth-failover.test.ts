import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Reply } from '../../src/simulator/script.ts'
import { signIn } from './connection-remedies.ts'
import { assertAnswered, exchange, keysOf, modelsOf, openRecoveryFixture } from './fixture-recovery.ts'

// A credential that is rejected although it was refreshed fails over to the next provider, once; without a chain the
// error says what to do about it.

const HELLO: Reply = { text: 'Hello.' }
const CLAUDE = 'anthropic/claude-sonnet-4-5'

for (const error of ['invalid-key', 'revoked', 'forbidden'] as const)
  test(`${error}: a rejection after a refresh fails over to the fallback in the same turn`, async (context) => {
    const setup = await openRecoveryFixture(context, {
      chain: ['openai/first', CLAUDE],
      environment: { OPENAI_API_KEY: '' },
      script: [{ when: { model: 'first' }, answer: { error } }, { answer: HELLO }],
    })
    await signIn(setup, 'openai')
    const first = await exchange(setup, 'one')
    assertAnswered(first, 'Hello.', ['auth-rejected → refresh-credential', 'auth-rejected → next-target'])
    assert.deepEqual(
      first.sent.map(({ protocol, key }) => [protocol, key]),
      [
        ['openai-chat', 'access-1'],
        ['oauth', undefined],
        ['openai-chat', 'access-2'],
        ['anthropic', 'key-of-anthropic'],
      ],
    )
    assert.deepEqual(await setup.fixture.cooldowns(), [], 'the last credential gets no cooldown without a stated end')
  })

test('the next turn tries the primary again, is rejected once and fails over again', async (context) => {
  const setup = await openRecoveryFixture(context, {
    chain: ['openai/first', CLAUDE],
    script: [{ when: { model: 'first' }, answer: { error: 'invalid-key' } }, { answer: HELLO }],
    environment: { OPENAI_API_KEY: 'key-1' },
  })
  for (const text of ['one', 'two']) {
    const turn = await exchange(setup, text)
    assertAnswered(turn, 'Hello.', ['auth-rejected → refresh-credential', 'auth-rejected → next-target'])
    assert.deepEqual(modelsOf(turn.sent), ['first', 'first', 'claude-sonnet-4-5'])
  }
})

test('a refresh that the vendor rejects permanently fails over without calling the model again', async (context) => {
  const setup = await openRecoveryFixture(context, {
    chain: ['openai/first', CLAUDE],
    environment: { OPENAI_API_KEY: '' },
    script: [{ when: { model: 'first' }, answer: { error: 'expired' } }, { answer: HELLO }],
  })
  await signIn(setup, 'openai')
  setup.simulator.oauth.revoke('refresh-1')
  const first = await exchange(setup, 'one')
  assertAnswered(first, 'Hello.', ['auth-rejected → refresh-credential', 'auth-rejected → next-target'])
  assert.deepEqual(modelsOf(first.sent), ['first', '', 'claude-sonnet-4-5'])
})

test('without a chain a rejected key ends the turn, and the error says what to do for that provider', async (context) => {
  const setup = await openRecoveryFixture(context, {
    script: [{ answer: { error: 'invalid-key' } }],
    environment: { OPENAI_API_KEY: 'key-1' },
  })
  const { run, story } = await exchange(setup, 'one')
  assert.deepEqual(story, ['auth-rejected → refresh-credential', 'auth-rejected → give-up'])
  assert.equal(run.status, 'failed')
  assert.equal(run.error?.errorType, 'llm_authentication')
  assert.match(run.error?.detail ?? '', /What to do: .*OpenAI/)
  assert.match(run.error?.detail ?? '', /OPENAI_API_KEY|holdfast auth add openai/)
})

for (const [chain, words] of [
  ['anthropic/claude-sonnet-4-5', /Claude Console|ANTHROPIC_API_KEY/],
  ['openrouter/some/model', /OpenRouter/],
  ['nous/m', /Nous|holdfast auth/],
] as const)
  test(`without a chain the advice for ${chain} names where its key is configured`, async (context) => {
    const setup = await openRecoveryFixture(context, { chain: [chain], script: [{ answer: { error: 'forbidden' } }] })
    const { run } = await exchange(setup, 'one')
    assert.equal(run.status, 'failed')
    assert.match(run.error?.detail ?? '', words)
  })

test('a server error is not a rejected key: no credential is refreshed and no auth failover happens', async (context) => {
  const setup = await openRecoveryFixture(context, {
    chain: ['openai/first', CLAUDE],
    environment: { OPENAI_API_KEY: '' },
    script: [{ when: { model: 'first' }, times: 1, answer: { error: 'server-error' } }, { answer: HELLO }],
  })
  await signIn(setup, 'openai')
  const first = await exchange(setup, 'one')
  assertAnswered(first, 'Hello.', ['server-error → wait'])
  assert.deepEqual(keysOf(first.sent), ['access-1', 'access-1'])
  assert.ok(first.sent.every(({ protocol }) => protocol !== 'oauth'))
})

test('a summary whose key is rejected fails over too, and answers stay at their target', async (context) => {
  const long = 'Many words. '.repeat(600)
  const setup = await openRecoveryFixture(context, {
    chain: ['openai/first', CLAUDE],
    environment: { OPENAI_API_KEY: 'key-1' },
    script: [
      { when: { model: 'first', contains: 'Summarize the conversation' }, answer: { error: 'forbidden' } },
      { when: { contains: 'Summarize the conversation' }, answer: { text: 'A summary.' } },
      { when: { lastContains: 'two', messagesAbove: 3 }, answer: { error: 'context-overflow' } },
      { when: { lastContains: 'two' }, answer: HELLO },
      { answer: { text: long } },
    ],
  })
  await exchange(setup, 'one')
  const second = await exchange(setup, 'two')
  assertAnswered(second, 'Hello.', [
    'context-overflow → compact',
    'auth-rejected → refresh-credential',
    'auth-rejected → next-target',
  ])
  assert.deepEqual(modelsOf(second.sent), ['first', 'first', 'first', 'claude-sonnet-4-5', 'first'])
})

test('every credential of a pool gets its own refresh, also if the first one is dead', async (context) => {
  const setup = await openRecoveryFixture(context, {
    environment: { OPENAI_API_KEY: '' },
    script: [
      { when: { key: 'access-1' }, answer: { error: 'expired' } },
      { when: { key: 'access-2' }, answer: { error: 'expired' } },
      { answer: HELLO },
    ],
  })
  await signIn(setup, 'openai', { priority: 1 })
  await signIn(setup, 'openai', { priority: 2 })
  setup.simulator.oauth.revoke('refresh-1')
  const first = await exchange(setup, 'one')
  assert.equal(first.run.stopReason, 'end_turn', first.story.join(', '))
  assert.deepEqual(
    first.sent.filter(({ protocol }) => protocol === 'openai-chat').map(({ key }) => key),
    ['access-1', 'access-2', 'access-3'],
  )
})

test('a primary without a key is skipped without a request, and the run records it', async (context) => {
  const setup = await openRecoveryFixture(context, {
    chain: ['openai/first', CLAUDE],
    environment: { OPENAI_API_KEY: '' },
    script: [{ answer: HELLO }],
  })
  const first = await exchange(setup, 'one')
  assertAnswered(first, 'Hello.', ['auth-rejected → next-target'])
  assert.deepEqual(modelsOf(first.sent), ['claude-sonnet-4-5'])
  assert.match(first.failures[0]!.failure.detail, /the API key of openai is missing, so no request was sent/)
})

test('a turn without a key says that it is missing and how to set it, and sends nothing', async (context) => {
  const ways: [string, RegExp][] = [
    [
      'openai',
      /Set OPENAI_API_KEY, or run `holdfast auth add openai`\. You get a key under "API keys" in the OpenAI platform settings\./,
    ],
    ['zai', /Set ZAI_API_KEY, or run `holdfast auth add zai`\./],
    ['codex', /Run `holdfast auth add codex --device`\./],
  ]
  for (const [provider, way] of ways) {
    const environment = { OPENAI_API_KEY: '', ZAI_API_KEY: '' }
    const setup = await openRecoveryFixture(context, { chain: [`${provider}/first`], environment })
    const { run, sent } = await exchange(setup, 'one')
    assert.deepEqual([run.status, sent.length], ['failed', 0])
    assert.match(run.error?.detail ?? '', /is missing, so no request was sent/)
    assert.match(run.error?.detail ?? '', way)
    assert.doesNotMatch(run.error?.detail ?? '', /Check|Sign in .* again/)
  }
})
