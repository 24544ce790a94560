import assert from 'node:assert/strict'
import { type AddressInfo, createServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import { recover } from '../../src/core/recovery.ts'
import type { ModelProvider } from '../../src/ports/model.ts'
import { classify, classifyTransport } from '../../src/providers/classify/classify.ts'
import { openaiChat } from '../../src/providers/openai/chat.ts'
import type { ProviderOverrides } from '../../src/providers/provider-set.ts'
import { newWireProvider } from '../../src/providers/wire/wire-provider.ts'
import type { Answer, Reply } from '../../src/simulator/script.ts'
import {
  assertAnswered,
  exchange,
  modelsOf,
  openRecoveryFixture,
  type RecoveryFixtureOptions,
} from './fixture-recovery.ts'

// Before the turn fails over from a directly reached primary for a transport error, its connections are rebuilt once,
// after a pause. This does not happen for an aggregator, a fallback, or an error that is not a transport error.

const HELLO: Reply = { text: 'Hello.' }
const STORY: Reply = { text: 'Once upon a time there was a lighthouse.', pace: { charactersPerChunk: 4 } }
const CLAUDE = 'anthropic/claude-sonnet-4-5'

const retries = (kind: string): string[] => [1, 2, 3].map(() => `${kind} → wait`)
/** Before a direct primary is left for a transport error: three retries with backoff, then one renewal. */
const leaving = (kind: string): string[] => [...retries(kind), `${kind} → rebuild-transport`, `${kind} → next-target`]

/** Short timeouts for silent providers. Other answers have the default timeouts, which a busy machine can meet. */
const SHORT_FIRST_BYTE = { timeout_ms: 60 }
const SHORT_STALL = { stall_timeout_ms: 60 }

/** A primary that always fails in this way, with a fallback that answers. */
async function failingWith(
  context: TestContext,
  answer: Answer,
  options: Partial<RecoveryFixtureOptions> & { name?: string; deadlines?: ProviderOverrides } = {},
) {
  const { name = 'custom', deadlines, ...more } = options
  const script = [{ when: { model: 'first' }, answer }, { answer: HELLO }]
  const setup = await openRecoveryFixture(context, { chain: [`${name}/first`, CLAUDE], script, ...more })
  const base_url = `${setup.simulator.url}/v1`
  const here = await openRecoveryFixture(context, {
    chain: [`${name}/first`, CLAUDE],
    providers: { [name]: { base_url, ...deadlines }, anthropic: { base_url: setup.simulator.url } },
    ...more,
  })
  return exchange({ fixture: here.fixture, simulator: setup.simulator }, 'one')
}

const FAILURES: [string, string, Answer, ProviderOverrides?][] = [
  ['a missing first byte', 'timeout', { line: 'silent' }, SHORT_FIRST_BYTE],
  ['silence in mid-answer', 'stalled', { ...STORY, breaks: { how: 'stall', afterChunks: 3 } }, SHORT_STALL],
  ['a reset before the answer', 'unreachable', { line: 'reset' }],
  ['a reset in mid-answer', 'cut-off', { ...STORY, breaks: { how: 'reset', afterChunks: 3 } }],
  ['a connection that closes in mid-answer', 'cut-off', { ...STORY, breaks: { how: 'cut', afterChunks: 3 } }],
  ['a stream that ends without a finish reason', 'cut-off', { ...STORY, breaks: { how: 'no-finish' } }],
]

for (const [name, kind, answer, deadlines] of FAILURES)
  test(`${name}: the connections of a direct primary are rebuilt once before the failover`, async (context) => {
    const first = await failingWith(context, answer, deadlines ? { deadlines } : {})
    assertAnswered(first, 'Hello.', leaving(kind))
    assert.equal(first.failures[3]?.waitMs, 6_000, 'min(3 + retries, 8) s')
  })

test('a closed port: the connections are rebuilt once before the failover', async (context) => {
  const setup = await openRecoveryFixture(context, {
    chain: ['custom/first', CLAUDE],
    providers: { custom: { base_url: `http://127.0.0.1:${await closedPort()}/v1` } },
    script: [{ answer: HELLO }],
  })
  assertAnswered(await exchange(setup, 'one'), 'Hello.', leaving('unreachable'))
})

test('a connect timeout: the connections are rebuilt once before the failover', async (context) => {
  // It accepts the connection and never completes the TLS handshake.
  const silent = createServer(() => {})
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  context.after(() => silent.close())
  const slow = newWireProvider({
    provider: 'slow',
    dialect: openaiChat,
    classify,
    classifyTransport,
    deadlines: { connectMs: 60 },
    baseUrl: `https://127.0.0.1:${(silent.address() as AddressInfo).port}/v1`,
  })
  const setup = await openRecoveryFixture(context, {
    chain: ['slow/first', CLAUDE],
    others: () => ({ slow }),
    script: [{ answer: HELLO }],
  })
  const first = await exchange(setup, 'one')
  assertAnswered(first, 'Hello.', leaving('timeout'))
  assert.equal(first.failures[0]?.failure.code, 'connect')
})

/** Our pools are unbounded; a client with a bounded pool reports a connect timeout. */
test('no free connection in time: the pool is rebuilt once before the failover', async (context) => {
  const { provider, renewals } = pretender({ kind: 'timeout', code: 'connect', detail: 'no free connection in time' })
  const setup = await openRecoveryFixture(context, {
    chain: ['pooled/first', CLAUDE],
    others: () => ({ pooled: provider }),
    script: [{ answer: HELLO }],
  })
  const first = await exchange(setup, 'one')
  assertAnswered(first, 'Hello.', leaving('timeout'))
  assert.equal(renewals(), 1)
})

for (const name of ['openrouter', 'nous'])
  test(`${name} pools connections itself: after three retries the turn fails over without rebuilding them`, async (context) => {
    const first = await failingWith(context, { line: 'silent' }, { name, deadlines: SHORT_FIRST_BYTE })
    assertAnswered(first, 'Hello.', [...retries('timeout'), 'timeout → next-target'])
  })

for (const name of ['ollama', 'openai', 'vllm'])
  test(`${name} is reached directly and its connections are rebuilt`, async (context) => {
    const first = await failingWith(context, { line: 'reset' }, { name })
    assertAnswered(first, 'Hello.', leaving('unreachable'))
  })

test('anthropic is reached directly and its connections are rebuilt', async (context) => {
  const setup = await openRecoveryFixture(context, {
    chain: [CLAUDE, 'openai/second'],
    script: [{ when: { protocol: 'anthropic' }, answer: { line: 'reset' } }, { answer: HELLO }],
  })
  assertAnswered(await exchange(setup, 'one'), 'Hello.', leaving('unreachable'))
})

test('connections of a fallback are not rebuilt', async (context) => {
  const setup = await openRecoveryFixture(context, {
    chain: ['openai/gone', 'custom/first', CLAUDE],
    script: [
      { when: { model: 'gone' }, answer: { error: 'model-not-found' } },
      { when: { model: 'first' }, answer: { line: 'reset' } },
      { answer: HELLO },
    ],
  })
  const wired = await openRecoveryFixture(context, {
    chain: ['openai/gone', 'custom/first', CLAUDE],
    providers: {
      openai: { base_url: `${setup.simulator.url}/v1` },
      custom: { base_url: `${setup.simulator.url}/other/v1` },
      anthropic: { base_url: setup.simulator.url },
    },
  })
  const first = await exchange({ fixture: wired.fixture, simulator: setup.simulator }, 'one')
  assertAnswered(first, 'Hello.', [
    'model-unknown → next-target',
    ...retries('unreachable'),
    'unreachable → next-target',
  ])
})

for (const error of ['server-error', 'overloaded', 'html-502'] as const)
  test(`${error} is not a transport error: it is retried three times, then the turn fails over without rebuilding connections`, async (context) => {
    const { story } = await failingWith(context, { error })
    assert.deepEqual(
      story.map((line) => line.split(' → ')[1]),
      ['wait', 'wait', 'wait', 'next-target'],
    )
  })

test('the pause before new connections grows with the retries before it', async (context) => {
  const setup = await openRecoveryFixture(context, {
    chain: ['custom/first'],
    script: [
      { times: 3, answer: { error: 'server-error' } },
      { times: 1, answer: { line: 'reset' } },
      { answer: HELLO },
    ],
  })
  const first = await exchange(setup, 'one')
  assertAnswered(first, 'Hello.', [
    'server-error → wait',
    'server-error → wait',
    'server-error → wait',
    'unreachable → rebuild-transport',
  ])
  assert.equal(first.failures.at(-1)?.waitMs, 6_000, 'min(3 + 3, 8) s')
})

test('the pause before new connections is never longer than eight seconds', () => {
  const circumstances = { siblings: 0, canRefresh: false, canRebuild: true, canCompact: false, jitter: 0 }
  const waits = Array.from({ length: 10 }, () => 'wait' as const)
  const at = { ...circumstances, waitBudgetLeftMs: 30_000 }
  assert.deepEqual(recover({ kind: 'timeout', detail: '' }, waits, at), { remedy: 'rebuild-transport', delayMs: 8_000 })
})

test('connections that cannot be rebuilt are one more failed attempt and do not end the run', async (context) => {
  const { provider } = pretender({ kind: 'unreachable', detail: 'connection refused' })
  provider.renewConnections = () => Promise.reject(new Error('socket error'))
  const setup = await openRecoveryFixture(context, {
    chain: ['pooled/first', CLAUDE],
    others: () => ({ pooled: provider }),
    script: [{ answer: HELLO }],
  })
  const { run, story, sent } = await exchange(setup, 'one')
  assert.equal(run.stopReason, 'end_turn', `${story.join(', ')}; ${JSON.stringify(run.error)}`)
  assert.deepEqual(modelsOf(sent), ['claude-sonnet-4-5'])
  assert.deepEqual(setup.fixture.faults, [])
})

test('a recovered connection answers in the same turn without failover', async (context) => {
  const setup = await openRecoveryFixture(context, {
    chain: ['custom/first', CLAUDE],
    script: [{ when: { model: 'first' }, times: 4, answer: { line: 'reset' } }, { answer: HELLO }],
  })
  const first = await exchange(setup, 'one')
  assertAnswered(first, 'Hello.', [...retries('unreachable'), 'unreachable → rebuild-transport'])
  assert.deepEqual(new Set(modelsOf(first.sent)), new Set(['first']))
})

function pretender(failure: Extract<Parameters<typeof recover>[0], object>) {
  let renewals = 0
  const provider: ModelProvider = {
    endpoint: { baseUrl: 'http://127.0.0.1:9/v1', isAggregator: false },
    async *stream() {
      yield { type: 'failure', failure }
    },
    async renewConnections() {
      renewals++
    },
  }
  return { provider, renewals: () => renewals }
}

async function closedPort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
