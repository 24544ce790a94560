import assert from 'node:assert/strict'
import type { Reply } from '../../src/simulator/script.ts'
import { simulatorFixture } from '../simulator/fixture-simulator.ts'
import {
  assertAnswered,
  assertOneExchange,
  exchange,
  keysOf,
  modelsOf,
  openRecoveryFixture,
  type RecoveryFixture,
  type RecoveryFixtureOptions,
} from './fixture-recovery.ts'
import { relayTo } from './relay.ts'
import type { RemedyScenario } from './remedy-scenario.ts'

const HELLO: Reply = { text: 'Hello.' }

/** Remedies that repeat the request: later, on another connection, with another key, or at another target. */
export const CONNECTION_REMEDIES: RemedyScenario[] = [
  {
    remedy: 'wait',
    promise: 'after a server error the same request is retried with backoff, and the next turn does not wait',
    async play(context) {
      const setup = await openRecoveryFixture(context, {
        script: [{ times: 1, answer: { error: 'server-error' } }, { answer: HELLO }],
      })
      const first = await exchange(setup, 'one')
      assertAnswered(first, 'Hello.', ['server-error → wait'])
      assertOneExchange(first)
      const { waitMs = 0, retryAt } = first.failures[0]!
      assert.ok(waitMs >= 500 && waitMs <= 750, `${waitMs}`)
      assert.ok(retryAt <= setup.fixture.clock.now())
      assert.deepEqual(first.sent[0]?.body, first.sent[1]?.body)
      assertAnswered(await exchange(setup, 'two'), 'Hello.', [])
    },
  },
  {
    remedy: 'keep-waiting',
    promise: 'a rate limit without a pool or a chain is waited out for the whole wait budget, not for three waits',
    async play(context) {
      const setup = await openRecoveryFixture(context, {
        script: [{ times: 6, answer: { error: 'rate-limit' } }, { answer: HELLO }],
      })
      const first = await exchange(setup, 'one')
      assertAnswered(first, 'Hello.', Array(6).fill('rate-limited → wait'))
      assertOneExchange(first)
      const waits = first.failures.map(({ waitMs = 0 }) => waitMs)
      assert.ok(waits.reduce((total, one) => total + one) <= 30_000, waits.join())
      assert.deepEqual(await setup.fixture.cooldowns(), [], 'the last key is never passed over without a stated end')
      assertAnswered(await exchange(setup, 'two'), 'Hello.', [])
    },
  },
  {
    remedy: 'keep-waiting-in-background',
    promise: 'a background run outlasts an outage of minutes, and a caller that waits is told within half a minute',
    async play(context) {
      const setup = await openRecoveryFixture(context, {
        chain: ['custom/m'],
        script: [{ times: 10, answer: { line: 'reset' } }, { answer: HELLO }],
        // A wait takes up to 60 s and a random half of that; the clock must jump over all of them.
        longestJumpMs: 150_000,
      })
      const background = await exchange(setup, 'one', { background: true })
      assert.equal(background.run.stopReason, 'end_turn', background.story.join(', '))
      const waited = background.failures.reduce((total, { waitMs = 0 }) => total + waitMs, 0)
      assert.ok(waited > 120_000 && waited <= 600_000, `${waited}`)
      setup.simulator.script({ times: 5, answer: { line: 'reset' } }, { answer: HELLO })
      const { run, failures } = await exchange(setup, 'two')
      assert.equal(run.status, 'failed')
      assert.ok(failures.reduce((total, { waitMs = 0 }) => total + waitMs, 0) < 30_000)
    },
  },
  {
    remedy: 'retry-credential',
    promise: 'a key that is rate limited once is tried again before its sibling is used',
    async play(context) {
      const setup = await openRecoveryFixture(context, {
        script: [{ times: 1, answer: { error: 'rate-limit' } }, { answer: HELLO }],
        environment: { OPENAI_API_KEY: 'key-1,key-2' },
      })
      const first = await exchange(setup, 'one')
      assertAnswered(first, 'Hello.', ['rate-limited → retry-credential'])
      assertOneExchange(first)
      assert.deepEqual(keysOf(first.sent), ['key-1', 'key-1'])
      assert.deepEqual(await setup.fixture.cooldowns(), [])
      assertAnswered(await exchange(setup, 'two'), 'Hello.', [])
    },
  },
  {
    remedy: 'next-credential',
    promise: 'a key without credit is replaced by its sibling, now and in the next turn',
    async play(context) {
      const setup = await openRecoveryFixture(context, {
        script: [{ answer: HELLO }],
        keys: { 'key-1': 'out-of-credit', 'key-2': 'valid' },
        environment: { OPENAI_API_KEY: 'key-1,key-2' },
      })
      const first = await exchange(setup, 'one')
      assertAnswered(first, 'Hello.', ['quota-exhausted → next-credential'])
      assertOneExchange(first)
      assert.deepEqual(keysOf(first.sent), ['key-1', 'key-2'])
      const [rest] = await setup.fixture.cooldowns()
      assert.equal(rest?.key, 'credential-env-OPENAI_API_KEY')
      assert.equal(rest?.reason, 'quota-exhausted')
      const second = await exchange(setup, 'two')
      assertAnswered(second, 'Hello.', [])
      assert.deepEqual(keysOf(second.sent), ['key-2'])
    },
  },
  {
    remedy: 'refresh-credential',
    promise: 'an expired token is refreshed once, and the same request is sent with the new one',
    async play(context) {
      const setup = await openRecoveryFixture(context, {
        environment: { OPENAI_API_KEY: '' },
        script: [{ answer: HELLO }],
        keys: { spare: 'valid' },
      })
      await signIn(setup, 'openai')
      setup.simulator.keys.set('access-1', 'expired')
      const first = await exchange(setup, 'one')
      assertAnswered(first, 'Hello.', ['auth-rejected → refresh-credential'])
      assertOneExchange(first)
      assert.deepEqual(
        first.sent.map(({ protocol, key }) => [protocol, key]),
        [
          ['openai-chat', 'access-1'],
          ['oauth', undefined],
          ['openai-chat', 'access-2'],
        ],
      )
      const second = await exchange(setup, 'two')
      assertAnswered(second, 'Hello.', [])
      assert.deepEqual(keysOf(second.sent), ['access-2'])
    },
  },
  {
    remedy: 'refresh-entitlement',
    promise: 'after a payment the entitlement is checked again and the token is refreshed',
    async play(context) {
      const flows: NonNullable<RecoveryFixtureOptions['flows']> = { nous: {} }
      const setup = await openRecoveryFixture(context, { chain: ['nous/m'], flows, environment: { NOUS_API_KEY: '' } })
      const { simulator } = setup
      Object.assign(flows.nous!, { tokenUrl: `${simulator.url}/oauth/token`, accountUrl: `${simulator.url}/account` })
      await signIn(setup, 'nous', { flow: 'nous' })
      simulator.script({ when: { key: 'access-1' }, answer: { error: 'payment-required' } }, { answer: HELLO })
      const first = await exchange(setup, 'one')
      assertAnswered(first, 'Hello.', ['quota-exhausted → refresh-entitlement'])
      assertOneExchange(first)
      assert.deepEqual(
        first.sent.map(({ protocol, key }) => [protocol, key]),
        [
          ['openai-chat', 'access-1'],
          ['account', 'access-1'],
          ['oauth', undefined],
          ['openai-chat', 'access-2'],
        ],
      )
      assertAnswered(await exchange(setup, 'two'), 'Hello.', [])
    },
  },
  {
    remedy: 'rebuild-transport',
    promise: 'after four timeouts every connection of the provider is closed and new ones are opened',
    async play(context) {
      const simulator = await simulatorFixture(context)
      const relay = await relayTo(simulator.port, context)
      const { fixture } = await openRecoveryFixture(context, {
        chain: ['custom/m'],
        providers: { custom: { base_url: `${relay.url}/v1`, timeout_ms: 1_000 } },
      })
      const setup = { fixture, simulator }
      await warmUp(setup, 3)
      assert.equal(relay.open(), 3)
      simulator.script({ times: 4, answer: { line: 'silent' } }, { answer: HELLO })
      const first = await exchange(setup, 'one')
      const retries = ['timeout → wait', 'timeout → wait', 'timeout → wait']
      assertAnswered(first, 'Hello.', [...retries, 'timeout → rebuild-transport'])
      assertOneExchange(first)
      assert.equal(first.failures.at(-1)?.waitMs, 6_000, 'min(3 + retries, 8) s')
      assert.ok(relay.carriedBy.at(-1)! > 3, 'idle connections are closed too')
      await relay.untilOpen(1)
      assertAnswered(await exchange(setup, 'two'), 'Hello.', [])
    },
  },
  {
    remedy: 'next-target',
    promise: 'for an unknown model the turn fails over to the next target, and the next turn tries the primary first',
    async play(context) {
      const setup = await openRecoveryFixture(context, {
        chain: ['openai/gone', 'anthropic/claude-sonnet-4-5'],
        script: [{ when: { model: 'gone' }, times: 1, answer: { error: 'model-not-found' } }, { answer: HELLO }],
      })
      const first = await exchange(setup, 'one')
      assertAnswered(first, 'Hello.', ['model-unknown → next-target'])
      assertOneExchange(first)
      assert.deepEqual(modelsOf(first.sent), ['gone', 'claude-sonnet-4-5'])
      assert.equal(first.failures[0]?.nextTarget, 1)
      const second = await exchange(setup, 'two')
      assertAnswered(second, 'Hello.', [])
      assert.deepEqual(modelsOf(second.sent), ['gone'])
    },
  },
]

type SignIn = { flow?: string; priority?: number }

/** A stored OAuth credential of the simulator's own token endpoint: `access-1` with `refresh-1`. */
export async function signIn(
  { fixture, simulator }: RecoveryFixture,
  provider: string,
  { flow = 'generic', ...more }: SignIn = {},
) {
  const { access_token, refresh_token } = simulator.oauth.issue()
  return fixture.addKey({
    provider,
    secret: access_token,
    refreshToken: refresh_token,
    ...more,
    oauth: { flow, tokenUrl: `${simulator.url}/oauth/token` },
  })
}

/** Opens this many connections and leaves them idle. */
async function warmUp({ fixture, simulator }: RecoveryFixture, count: number): Promise<void> {
  simulator.script({ answer: { text: 'warm', pace: { beforeFirstChunkMs: 60 } } })
  const provider = fixture.context.deps.models.find('custom')!
  const request = { model: 'm', system: '', messages: [], tools: [] }
  const drain = async () => {
    for await (const _ of provider.stream(request, { signal: AbortSignal.timeout(5_000) }));
  }
  await Promise.all(Array.from({ length: count }, drain))
}
