import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defined } from '../../src/core/defined.ts'
import type { FlowOverrides } from '../../src/providers/credentials/oauth-flows.ts'
import type { RequestRecord } from '../../src/simulator/recorder.ts'
import type { Reply } from '../../src/simulator/script.ts'
import { startTokenEndpoint } from '../credentials/fixture-token-endpoint.ts'
import { tool } from '../harness/tools.ts'
import { signIn } from './connection-remedies.ts'
import { assertAnswered, bodyText, exchange, keysOf, openRecoveryFixture } from './fixture-recovery.ts'

// A turn through each vendor with its own login: the token ends in mid-turn and is renewed once, in the same turn.

const HELLO: Reply = { text: 'Hello.' }
const IMAGE = { type: 'image', source: { mediaType: 'image/png', data: 'aGk=' } } as const

/** The guards of each vendor; the model request that follows the renewal is the second of a step with a tool. */
const LOGINS = [
  { provider: 'codex', model: 'gpt-5-codex', protocol: 'openai-responses' },
  { provider: 'anthropic', model: 'claude-sonnet-4-5', protocol: 'anthropic' },
  { provider: 'nous', model: 'm', protocol: 'openai-chat' },
] as const

for (const { provider, model, protocol } of LOGINS)
  test(`${provider}: a token that ends between two steps is renewed once, and the turn goes on`, async (context) => {
    const setup = await openRecoveryFixture(context, {
      chain: [`${provider}/${model}`],
      environment: { ANTHROPIC_API_KEY: '', NOUS_API_KEY: '' },
      tools: [tool('lookup')],
      keys: { spare: 'valid' },
      script: [{ times: 1, answer: { calls: [{ id: 'c1', name: 'lookup' }] } }, { answer: HELLO }],
    })
    const { simulator, fixture } = setup
    await signIn(setup, provider, { flow: provider })
    simulator.script(
      { times: 1, answer: { calls: [{ id: 'c1', name: 'lookup' }] } },
      { when: { key: 'access-1' }, answer: { error: 'invalid-key' } },
      { answer: HELLO },
    )
    const first = await exchange(setup, 'one')
    assertAnswered(first, 'Hello.', ['auth-rejected → refresh-credential'])
    assert.deepEqual(
      first.sent.map((request) => [request.protocol, request.key]),
      [
        [protocol, 'access-1'],
        [protocol, 'access-1'],
        ['oauth', undefined],
        [protocol, 'access-2'],
      ],
    )
    await fixture.restart()
    assert.deepEqual(keysOf((await exchange(setup, 'two')).sent), ['access-2'])
  })

test('Codex: instructions are always sent, an output limit never, and the run says that it was left out', async (context) => {
  const setup = await openRecoveryFixture(context, { chain: ['codex/gpt-5-codex'], script: [{ answer: HELLO }] })
  await signIn(setup, 'codex', { flow: 'codex' })
  const agent = { ...setup.fixture.agent, settings: { wire: { model_settings: { max_output_tokens: 900 } } } }
  const { run, sent } = await exchange(setup, 'one', { agent, system: '' })
  const body = sent[0]!.body as { instructions?: string; max_output_tokens?: number }
  assert.equal(typeof body.instructions, 'string')
  assert.ok(!('max_output_tokens' in body))
  const answer = (await setup.fixture.events(run.id)).find(({ type }) => type === 'answer-received')
  assert.ok(answer?.type === 'answer-received')
  assert.deepEqual(answer.settingsLeftOut, ['max_output_tokens: this server takes no output limit'])
})

test('Copilot: the address and the token come from the exchange, and only a request with an image says so', async (context) => {
  const endpoint = await startTokenEndpoint()
  context.after(endpoint.close)
  const flows: FlowOverrides & Record<string, { exchangeUrl?: string }> = { copilot: {} }
  const setup = await openRecoveryFixture(context, {
    chain: ['copilot/gpt-5'],
    flows,
    keys: { 'access-1': 'expired', 'access-2': 'valid' },
    script: [{ answer: HELLO }],
  })
  const { simulator, fixture } = setup
  Object.assign(flows.copilot!, { exchangeUrl: `${endpoint.url}/exchange` })
  const endsAt = Date.now() / 1_000 + 1_800
  endpoint.answer(() => ({
    body: { token: 'access-2', expires_at: endsAt, endpoints: { api: `${simulator.url}/account/v1` } },
  }))
  await fixture.addKey({
    provider: 'copilot',
    secret: 'access-1',
    refreshToken: 'github-1',
    oauth: { flow: 'copilot' },
  })
  const first = await exchange(setup, 'one')
  assertAnswered(first, 'Hello.', ['auth-rejected → refresh-credential'])
  assert.equal(endpoint.requests[0]?.headers.authorization, 'token github-1')
  assert.deepEqual(
    first.sent.map(({ path, key }) => [path, key]),
    [
      ['/v1/chat/completions', 'access-1'],
      ['/account/v1/chat/completions', 'access-2'],
    ],
  )
  const vision = ({ headers }: RequestRecord) => headers['copilot-vision-request']
  const words = '{"type":"image_url"}'
  assert.deepEqual((await exchange(setup, words)).sent.map(vision), [undefined])
  const third = await exchange(setup, 'look', { content: [{ type: 'text', text: 'look' }, IMAGE] })
  assert.deepEqual(third.sent.map(vision), ['true'])
})

for (const provider of ['zai', 'xai'])
  test(`${provider}: a turn with a key from the environment is answered`, async (context) => {
    const setup = await openRecoveryFixture(context, { chain: [`${provider}/m`], script: [{ answer: HELLO }] })
    const first = await exchange(setup, 'one')
    assertAnswered(first, 'Hello.', [])
    assert.deepEqual(keysOf(first.sent), [`key-of-${provider}`])
  })

test('Claude behind an aggregator: the prompt and the last three messages are marked, and nothing else changes', async (context) => {
  const setup = await openRecoveryFixture(context, {
    chain: ['openrouter/anthropic/claude-sonnet-4.5'],
    tools: [tool('lookup')],
    script: [
      { when: { lastContains: 'tool' }, times: 1, answer: { calls: [{ id: 'c1', name: 'lookup' }] } },
      { answer: HELLO },
    ],
  })
  const sent = [
    ...(await exchange(setup, 'one', { system: 'Be brief.' })).sent,
    ...(await exchange(setup, 'use the tool', { system: 'Be brief.' })).sent,
    ...(await exchange(setup, 'three', { system: 'Be brief.' })).sent,
  ]
  const marks = sent.map((request) => bodyText(request).match(/cache_control/g)?.length)
  assert.deepEqual(marks, [2, 4, 4, 4], 'at most four')
  const unmarked = sent.map((request) => bodyText(request).replaceAll(',"cache_control":{"type":"ephemeral"}', ''))
  const historyOf = (text: string) => text.slice(0, text.indexOf('],"tools"'))
  for (const [index, text] of unmarked.slice(1).entries())
    assert.ok(historyOf(text).startsWith(historyOf(unmarked[index]!)), 'the bytes before are the same')
})

test('a turn that fell back to an aggregator has its marks, and the next turn has the policy of the primary', async (context) => {
  const setup = await openRecoveryFixture(context, {
    chain: ['openai/first', 'openrouter/anthropic/claude-sonnet-4'],
    script: [{ when: { model: 'first' }, times: 1, answer: { error: 'payment-required' } }, { answer: HELLO }],
  })
  const sent = [...(await exchange(setup, 'one')).sent, ...(await exchange(setup, 'two')).sent]
  assert.deepEqual(
    sent.map((request) => [request.model, bodyText(request).includes('cache_control')]),
    [
      ['first', false],
      ['anthropic/claude-sonnet-4', true],
      ['first', false],
    ],
  )
})

test('only Claude behind an aggregator that takes marks is marked', async (context) => {
  for (const handle of [
    'openrouter/openai/gpt-5',
    'together/anthropic/claude-sonnet-4',
    'nous/anthropic/claude-opus-4.5',
  ]) {
    const setup = await openRecoveryFixture(context, {
      chain: [handle as `${string}/${string}`],
      script: [{ answer: HELLO }],
    })
    const { sent } = await exchange(setup, 'one', defined({ system: 'Be brief.' }))
    assert.equal(bodyText(sent[0]).includes('cache_control'), handle.startsWith('nous'), handle)
  }
})
