import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ModelProvider } from '../../src/ports/model.ts'
import type { RequestRecord } from '../../src/simulator/recorder.ts'
import type { Reply } from '../../src/simulator/script.ts'
import { simulatorFixture } from '../simulator/fixture-simulator.ts'
import { assertAnswered, bodyText, exchange, modelsOf, openRecoveryFixture } from './fixture-recovery.ts'

// Failover lasts for one turn. It changes neither the agent nor a client, so there is nothing to restore: the next turn
// calls the primary with the whole chain, its own window, limits, headers and caching policy.

const HELLO: Reply = { text: 'Hello.' }
const LONG = 'Many words. '.repeat(600)
const CLAUDE = 'anthropic/claude-sonnet-4-5'

test('a run keeps the chain it was accepted with, primary first, after any failover', async (context) => {
  const setup = await openRecoveryFixture(context, {
    chain: ['openai/first', CLAUDE, 'custom/third'],
    script: [{ when: { model: 'first' }, answer: { error: 'model-not-found' } }, { answer: HELLO }],
  })
  const { run } = await exchange(setup, 'one')
  const [accepted] = await setup.fixture.events(run.id)
  assert.ok(accepted?.type === 'input-accepted')
  assert.deepEqual(accepted.settings.targets, ['openai/first', CLAUDE, 'custom/third'])
  const agent = await setup.fixture.context.deps.store.agents.get(run.organizationId, run.agentId)
  assert.deepEqual(agent, setup.fixture.agent, 'nothing on the agent changed')
})

test('a turn without failover does not change the next one', async (context) => {
  const setup = await openRecoveryFixture(context, { chain: ['openai/first', CLAUDE], script: [{ answer: HELLO }] })
  const first = await exchange(setup, 'one')
  const second = await exchange(setup, 'one')
  assertAnswered(first, 'Hello.', [])
  assertAnswered(second, 'Hello.', [])
  assert.deepEqual(modelsOf([...first.sent, ...second.sent]), ['first', 'first'])
})

test('the next turn calls the model and provider of the primary again', async (context) => {
  const setup = await openRecoveryFixture(context, {
    chain: ['openai/first', CLAUDE],
    script: [{ when: { model: 'first' }, times: 1, answer: { error: 'payment-required' } }, { answer: HELLO }],
  })
  const first = await exchange(setup, 'one')
  assertAnswered(first, 'Hello.', ['quota-exhausted → next-target'])
  const second = await exchange(setup, 'two')
  assertAnswered(second, 'Hello.', [])
  assert.deepEqual(
    [...first.sent, ...second.sent].map(({ protocol, model }) => `${protocol} ${model}`),
    ['openai-chat first', 'anthropic claude-sonnet-4-5', 'openai-chat first'],
  )
})

test('the next turn has the whole chain again, however far the last one failed over', async (context) => {
  const setup = await openRecoveryFixture(context, {
    chain: ['openai/first', CLAUDE, 'custom/third'],
    script: [
      { when: { model: 'first' }, answer: { error: 'model-not-found' } },
      { when: { model: 'claude-sonnet-4-5' }, times: 1, answer: { error: 'model-not-found' } },
      { answer: HELLO },
    ],
  })
  assert.deepEqual(modelsOf((await exchange(setup, 'one')).sent), ['first', 'claude-sonnet-4-5', 'third'])
  assert.deepEqual(modelsOf((await exchange(setup, 'two')).sent), ['first', 'claude-sonnet-4-5'])
})

test('the next turn has the window and the compaction limits of the primary', async (context) => {
  const simulator = await simulatorFixture(context, {
    script: [
      { when: { contains: 'Summarize the conversation' }, answer: { text: 'A summary.' } },
      { when: { model: 'wide', lastContains: 'two' }, answer: { error: 'payment-required' } },
      { when: { model: 'narrow' }, answer: HELLO },
      { answer: { text: LONG, usage: 'none' } },
    ],
  })
  const { fixture } = await openRecoveryFixture(context, {
    chain: ['custom/wide', 'openai/narrow'],
    providers: {
      custom: { base_url: `${simulator.url}/v1`, windows: { wide: 100_000 } },
      openai: { base_url: `${simulator.url}/other/v1`, windows: { narrow: 2_000 } },
    },
  })
  const setup = { fixture, simulator }
  assertAnswered(await exchange(setup, 'one'), LONG, [])
  assertAnswered(await exchange(setup, 'one more'), LONG, [])
  const small = await exchange(setup, 'two')
  assertAnswered(small, 'Hello.', ['quota-exhausted → next-target', 'context-overflow → compact'])
  assert.match(small.failures[1]!.failure.detail, /window of 2000/)
  for (const text of ['three', 'four']) assertAnswered(await exchange(setup, text), LONG, [])
})

test('the next turn has the caching policy and the headers of the primary, and the fallback had none of them', async (context) => {
  const setup = await openRecoveryFixture(context, {
    chain: [CLAUDE, 'openai/second'],
    script: [
      { when: { protocol: 'anthropic', lastContains: 'one' }, answer: { error: 'model-not-found' } },
      { answer: HELLO },
    ],
  })
  const marked = (request: RequestRecord) => bodyText(request).includes('cache_control')
  const versioned = (request: RequestRecord) => request.headers['anthropic-version'] !== undefined
  const first = await exchange(setup, 'one')
  const second = await exchange(setup, 'two')
  assertAnswered(second, 'Hello.', [])
  const sent = [...first.sent, ...second.sent]
  assert.deepEqual(sent.map(marked), [true, false, true])
  assert.deepEqual(sent.map(versioned), [true, false, true])
})

test('a fallback without a provider is a failed attempt, and the next target answers', async (context) => {
  const setup = await openRecoveryFixture(context, {
    chain: ['openai/first', CLAUDE],
    script: [{ when: { model: 'first' }, answer: { error: 'model-not-found' } }, { answer: HELLO }],
  })
  // The provider was removed from the configuration after the chain was set.
  setup.fixture.agent.fallback.unshift('nobody/model')
  assertAnswered(await exchange(setup, 'one'), 'Hello.', ['model-unknown → next-target', 'model-unknown → next-target'])
  assert.deepEqual(setup.fixture.faults, [])
})

test('a fallback with an invalid URL is a failed attempt, and the next target answers', async (context) => {
  const setup = await openRecoveryFixture(context, {
    chain: ['openai/first', 'custom/second', CLAUDE],
    providers: { custom: { base_url: 'not an address' } },
    script: [{ when: { model: 'first' }, answer: { error: 'model-not-found' } }, { answer: HELLO }],
  })
  const { run, story, sent } = await exchange(setup, 'one')
  assert.equal(run.stopReason, 'end_turn', story.join(', '))
  assert.deepEqual(modelsOf(sent), ['first', 'claude-sonnet-4-5'])
  assert.deepEqual(setup.fixture.faults, [])
})

test('a primary with an invalid URL fails over, in this turn and in the next', async (context) => {
  const setup = await openRecoveryFixture(context, {
    chain: ['custom/first', CLAUDE],
    providers: { custom: { base_url: 'not an address' } },
    script: [{ answer: HELLO }],
  })
  for (const text of ['one', 'two']) {
    const { run, story } = await exchange(setup, text)
    assert.equal(run.stopReason, 'end_turn', story.join(', '))
  }
})

test('a provider client that throws fails the attempt, not the run', async (context) => {
  const broken: ModelProvider = {
    stream() {
      throw new Error('the client could not be built')
    },
  }
  const setup = await openRecoveryFixture(context, {
    chain: ['openai/first', 'broken/model', CLAUDE],
    others: () => ({ broken }),
    script: [{ when: { model: 'first' }, answer: { error: 'model-not-found' } }, { answer: HELLO }],
  })
  const { run, story } = await exchange(setup, 'one')
  assert.equal(run.stopReason, 'end_turn', story.join(', '))
  assert.deepEqual(story.at(-1), 'unreachable → next-target')
  assert.deepEqual(setup.fixture.faults, [])
})

test('the full cycle: a primary that dies in mid-stream fails over to its fallback, and the next turn calls it first', async (context) => {
  const dying: Reply = {
    text: 'Half of an answer that',
    pace: { charactersPerChunk: 4 },
    breaks: { how: 'reset', afterChunks: 4 },
  }
  const setup = await openRecoveryFixture(context, {
    chain: ['custom/first', CLAUDE],
    script: [{ when: { model: 'first' }, times: 5, answer: dying }, { answer: HELLO }],
  })
  const first = await exchange(setup, 'one')
  const retries = Array<string>(3).fill('cut-off → wait')
  assertAnswered(first, 'Hello.', [...retries, 'cut-off → rebuild-transport', 'cut-off → next-target'])
  const chunks = await setup.fixture.chunks(first.run.id)
  const shown = chunks.flatMap((chunk) => (chunk.message_type === 'assistant_message' ? [chunk.id] : []))
  const reset = chunks.flatMap((chunk) => (chunk.message_type === 'message_reset' ? [chunk.id] : []))
  const seen = [...new Set(shown)]
  assert.equal(seen.length, 6, 'five beginnings and the answer')
  assert.deepEqual(reset, seen.slice(0, 5), 'streamed text of failed attempts is reset')
  const moves = chunks.flatMap((chunk) => (chunk.message_type === 'attempt_failed' ? [chunk.next_target] : []))
  assert.deepEqual(moves, [undefined, undefined, undefined, undefined, CLAUDE], 'the stream names the next target')
  const second = await exchange(setup, 'two')
  assertAnswered(second, 'Hello.', [])
  assert.deepEqual(modelsOf(second.sent), ['first'])
})
