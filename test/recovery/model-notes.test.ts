import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { forgetModelNotes, listModelNotes } from '../../src/service/providers/model-notes.ts'
import type { RequestRecord } from '../../src/simulator/recorder.ts'
import type { Reply } from '../../src/simulator/script.ts'
import { tool } from '../harness/tools.ts'
import {
  assertAnswered,
  bodyText,
  exchange,
  keysOf,
  modelsOf,
  openRecoveryFixture,
  type RecoveryFixture,
  type RecoveryFixtureOptions,
} from './fixture-recovery.ts'

// What a vendor would refuse in the same way again is remembered: it is refused once, not once for each request.

const HELLO: Reply = { text: 'Hello.' }
const CLAUDE = 'anthropic/claude-sonnet-4-5'
const LONG = `${CLAUDE}[1m]` as const
const DAY_MS = 24 * 3_600_000

const isStrict = (request: RequestRecord) => bodyText(request).includes('"pattern"')
const hasBeta = ({ headers }: RequestRecord) => String(headers['anthropic-beta'] ?? '').includes('context-1m')

/** A server that refuses patterns in schemas, and a model that looks twice before it answers. */
async function openLlamaFixture(context: TestContext, more: RecoveryFixtureOptions = {}): Promise<RecoveryFixture> {
  const inputSchema = { type: 'object', properties: { code: { type: 'string', pattern: '^[A-Z]{3}$' } } }
  const setup = await openRecoveryFixture(context, {
    chain: ['llamacpp/m'],
    tools: [tool('lookup', undefined, { inputSchema })],
    ...more,
  })
  scriptThreeSteps(setup)
  return setup
}

const scriptThreeSteps = ({ simulator }: RecoveryFixture) =>
  simulator.script(
    { when: { contains: '"pattern"' }, answer: { error: 'grammar' } },
    { times: 1, answer: { calls: [{ id: 'c1', name: 'lookup' }] } },
    { times: 1, answer: { calls: [{ id: 'c2', name: 'lookup' }] } },
    { answer: HELLO },
  )

test('a llama.cpp turn of three steps is four requests the first time, and three in every later turn', async (context) => {
  const setup = await openLlamaFixture(context)
  const first = await exchange(setup, 'one')
  assertAnswered(first, 'Hello.', ['grammar-rejected → relax-schemas'])
  assert.deepEqual(first.sent.map(isStrict), [true, false, false, false])
  scriptThreeSteps(setup)
  const second = await exchange(setup, 'two')
  assertAnswered(second, 'Hello.', [])
  assert.deepEqual(second.sent.map(isStrict), [false, false, false])
})

test('the note is in the commit of the answer that proved it: it survives a crash right after it', async (context) => {
  const setup = await openLlamaFixture(context)
  const { fixture } = setup
  const first = await exchange(setup, 'one')
  const answer = (await fixture.events(first.run.id)).find(({ type }) => type === 'answer-received')
  assert.deepEqual(answer?.type === 'answer-received' && answer.notes, { relaxSchemas: true })
  await fixture.restart()
  const [note] = await listModelNotes(fixture.context)
  assert.deepEqual(
    [note?.provider, note?.model, note?.kind, note?.credentialId, note?.runId],
    ['llamacpp', 'm', 'relaxSchemas', undefined, first.run.id],
  )
  scriptThreeSteps(setup)
  assertAnswered(await exchange(setup, 'two'), 'Hello.', [])
})

test('a run names the notes that its requests obeyed', async (context) => {
  const setup = await openLlamaFixture(context)
  await exchange(setup, 'one')
  const { run } = await exchange(setup, 'two')
  const events = await setup.fixture.events(run.id)
  const applied = events.flatMap((event) => (event.type === 'answer-received' ? [event.notesApplied] : []))
  assert.deepEqual(applied[0], ['relaxSchemas'])
})

test('a note ends by itself: the server is tried again as it was, and remembered again if it still refuses', async (context) => {
  const setup = await openLlamaFixture(context)
  const { fixture } = setup
  await exchange(setup, 'one')
  fixture.clock.skip(6 * DAY_MS)
  assert.deepEqual((await exchange(setup, 'two')).sent.map(isStrict), [false])
  fixture.clock.skip(DAY_MS)
  assert.deepEqual(await listModelNotes(fixture.context), [], 'its end is visible')
  assert.deepEqual((await exchange(setup, 'three')).sent.map(isStrict), [true, false])
  assert.deepEqual((await exchange(setup, 'four')).sent.map(isStrict), [false])
  fixture.clock.skip(8 * DAY_MS)
  setup.simulator.script({ answer: HELLO })
  assert.deepEqual((await exchange(setup, 'five')).sent.map(isStrict), [true], 'the server was updated')
  assert.deepEqual((await exchange(setup, 'six')).sent.map(isStrict), [true])
})

test('a note that is forgotten by hand is tried again at once', async (context) => {
  const setup = await openLlamaFixture(context)
  await exchange(setup, 'one')
  assert.deepEqual(await forgetModelNotes('llamacpp/other', setup.fixture.context), { forgotten: 0 })
  assert.deepEqual(await forgetModelNotes('llamacpp/m', setup.fixture.context), { forgotten: 1 })
  assert.deepEqual((await exchange(setup, 'two')).sent.map(isStrict), [true, false])
})

test('a refusal that the remembered remedy does not cure fails over at once, without the same request again', async (context) => {
  const setup = await openLlamaFixture(context, { chain: ['llamacpp/m', CLAUDE] })
  await exchange(setup, 'one')
  setup.simulator.script({ when: { model: 'm' }, answer: { error: 'grammar' } }, { answer: HELLO })
  const second = await exchange(setup, 'two')
  assertAnswered(second, 'Hello.', ['grammar-rejected → next-target'])
  assert.deepEqual(modelsOf(second.sent), ['m', 'claude-sonnet-4-5'])
  assert.deepEqual(second.failures[0]?.notesApplied, ['relaxSchemas'])
})

test('the long-context beta is remembered for the account that lacks it, not for its sibling', async (context) => {
  const setup = await openRecoveryFixture(context, {
    chain: [LONG],
    environment: { ANTHROPIC_API_KEY: 'key-1,key-2' },
    script: [
      { when: { key: 'key-1', headers: { 'anthropic-beta': 'context-1m' } }, answer: { error: 'long-context-beta' } },
      { answer: HELLO },
    ],
  })
  assert.deepEqual((await exchange(setup, 'one')).sent.map(hasBeta), [true, false])
  assert.deepEqual((await exchange(setup, 'two')).sent.map(hasBeta), [false])
  setup.simulator.keys.set('key-1', 'out-of-credit')
  setup.simulator.keys.set('key-2', 'valid')
  const third = await exchange(setup, 'three')
  assert.deepEqual(keysOf(third.sent), ['key-1', 'key-2'])
  assert.deepEqual(third.sent.map(hasBeta), [false, true])
  const notes = await listModelNotes(setup.fixture.context)
  assert.deepEqual(
    notes.map(({ kind, credentialId }) => [kind, credentialId]),
    [['dropLongContextBeta', 'credential-env-ANTHROPIC_API_KEY']],
  )
})

test('a credential that answers after its sibling was refused learns nothing from it', async (context) => {
  const setup = await openRecoveryFixture(context, {
    chain: [LONG],
    environment: { ANTHROPIC_API_KEY: 'key-1,key-2' },
    script: [
      { when: { key: 'key-1', headers: { 'anthropic-beta': 'context-1m' } }, answer: { error: 'long-context-beta' } },
      { when: { key: 'key-1' }, answer: { error: 'payment-required' } },
      { answer: HELLO },
    ],
  })
  const first = await exchange(setup, 'one')
  assertAnswered(first, 'Hello.', [
    'long-context-beta-refused → drop-long-context-beta',
    'quota-exhausted → next-credential',
  ])
  assert.deepEqual(await listModelNotes(setup.fixture.context), [])
})

test('without the long-context beta the window is the standard one: the conversation is compacted before it is refused', async (context) => {
  const words = 'word '.repeat(100_000)
  const setup = await openRecoveryFixture(context, {
    chain: [LONG],
    script: [
      { when: { headers: { 'anthropic-beta': 'context-1m' } }, answer: { error: 'long-context-beta' } },
      { when: { bytesAbove: 850_000 }, answer: { error: 'context-overflow' } },
      { answer: HELLO },
    ],
  })
  assertAnswered(await exchange(setup, words), 'Hello.', ['long-context-beta-refused → drop-long-context-beta'])
  const second = await exchange(setup, words)
  assert.equal(second.run.stopReason, 'end_turn', second.story.join(', '))
  assert.deepEqual(second.story, ['context-overflow → compact'])
  assert.equal(second.failures[0]?.failure.requestId, undefined, 'nothing was sent to find out')
  assert.ok(second.sent.every((request) => !hasBeta(request)))
})

test('a beta that is refused for the first time in a conversation that needed it is compacted in the same turn', async (context) => {
  const words = 'word '.repeat(100_000)
  const setup = await openRecoveryFixture(context, { chain: [LONG], script: [{ answer: HELLO }] })
  assertAnswered(await exchange(setup, words), 'Hello.', [])
  setup.simulator.script(
    { when: { headers: { 'anthropic-beta': 'context-1m' } }, answer: { error: 'long-context-beta' } },
    { answer: HELLO },
  )
  const second = await exchange(setup, words)
  assert.equal(second.run.stopReason, 'end_turn', second.story.join(', '))
  assert.deepEqual(second.story, ['long-context-beta-refused → drop-long-context-beta', 'context-overflow → compact'])
  assert.deepEqual(second.sent.map(hasBeta), [true, false, false], 'the summary does not ask for it either')
})
