import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Part } from '../../src/core/answer.ts'
import type { Chunk } from '../../src/core/chunk.ts'
import type { Failure, FailureKind } from '../../src/core/failure.ts'
import { LADDER } from '../../src/core/recovery.ts'
import type { ModelProvider } from '../../src/ports/model.ts'
import { createAgent } from '../../src/service/agents/create-agent.ts'
import { clearCooldowns } from '../../src/service/credentials/cooldowns.ts'
import { checkStore } from '../../src/service/store/check-store.ts'
import { ERROR_NAMES } from '../../src/simulator/error-table.ts'
import type { Answer } from '../../src/simulator/script.ts'
import { caseCount } from '../harness/case-count.ts'
import { answersIn, type WiredFixture } from '../harness/fixture-wired.ts'
import { tool } from '../harness/tools.ts'
import { allMessages, openRecoveryFixture } from './fixture-recovery.ts'
import { assertWithinLadder } from './ladder-bounds.ts'

// Any sequence of failures ends with an answer or a stop reason: in time, with one answer to a step, and with a
// history that equals what the model said.

const CASES = Number(process.env.RECOVERY_CASES ?? caseCount(1_500))
const CASES_OVER_HTTP = Number(process.env.RECOVERY_HTTP_CASES ?? caseCount(60))
const seeded = process.env.SEED ? { seed: Number(process.env.SEED) } : {}
const KEYS = { ONE_API_KEY: 'key-1,key-2', TWO_API_KEY: 'key-3,key-4' }

/** The outcome of the next request, at any target. */
type AttemptFate =
  | { type: 'failure'; failure: Failure; hasSpoken: boolean }
  | { type: 'answer'; finish: 'stop' | 'length'; hasText: boolean; hasThought: boolean }
  | { type: 'call'; finish: 'tool-calls' | 'length' }

test('a turn over two targets with two keys each always ends with an answer or a stop reason', async (context) => {
  let fates: AttemptFate[] = []
  let asked = 0
  const spoken: { text: string; isWhole: boolean }[] = []
  const provider = (name: string): ModelProvider => ({
    endpoint: { baseUrl: `http://${name}.test/v1`, isAggregator: false },
    factsOf: () => ({ window: 100_000, maxOutput: 32_000 }),
    async *stream() {
      const text = `[${name} ${++asked}]`
      const fate = fates.shift() ?? { type: 'answer', finish: 'stop', hasText: true, hasThought: false }
      spoken.push({ text, isWhole: fate.type !== 'failure' })
      yield* partsOf(fate, text)
    },
    async renewConnections() {},
  })
  const { fixture } = await openRecoveryFixture(context, {
    chain: ['one/m', 'two/m'],
    providers: { one: { base_url: 'http://one.test/v1' }, two: { base_url: 'http://two.test/v1' } },
    others: () => ({ one: provider('one'), two: provider('two') }),
    environment: KEYS,
    tools: [tool('look')],
  })
  const reached = new Map<string, number>()
  const property = fc.asyncProperty(fc.array(fateOf(), { maxLength: 14 }), async (row) => {
    fates = [...row]
    spoken.length = 0
    await clearCooldowns({}, fixture.context)
    const stopReason = await assertSound(fixture, (text) => spoken.find((one) => one.text === text)?.isWhole ?? false)
    reached.set(stopReason, (reached.get(stopReason) ?? 0) + 1)
  })
  await fc.assert(property, { numRuns: CASES, examples: RARE_ENDINGS, ...seeded })
  assert.deepEqual(fixture.faults, [])
  assert.deepEqual((await checkStore(fixture.context)).violations, [])
  assert.ok(reached.size > 3, `few endings were reached: ${JSON.stringify([...reached])}`)
})

test('the same holds over HTTP, with the errors of real vendors and broken connections', async (context) => {
  const setup = await openRecoveryFixture(context, {
    chain: ['openai/m', 'anthropic/claude-sonnet-4-5'],
    environment: { OPENAI_API_KEY: 'key-1,key-2', ANTHROPIC_API_KEY: 'key-3,key-4' },
    tools: [tool('look')],
  })
  const { fixture, simulator } = setup
  const property = fc.asyncProperty(fc.array(answers(), { maxLength: 8 }), async (row) => {
    let asked = 0
    const whole = new Map<string, boolean>()
    simulator.script(...row.map((answer) => ({ times: 1, answer: spokenAs(answer, `[${++asked}]`, whole) })), {
      answer: spokenAs({ text: '' }, '[last]', whole),
    })
    await clearCooldowns({}, fixture.context)
    // The last answer may occur several times, but never twice in one step.
    await assertSound(fixture, (text) => whole.get(text) ?? false)
  })
  await fc.assert(property, { numRuns: CASES_OVER_HTTP, ...seeded })
  assert.deepEqual(fixture.faults, [])
  assert.deepEqual((await checkStore(fixture.context)).violations, [])
})

/** Runs one turn of a new agent and returns its stop reason; `isWhole` is true for texts that were not cut off. */
async function assertSound(fixture: WiredFixture, isWhole: (text: string) => boolean): Promise<string> {
  const { agent: model } = fixture
  const agent = await createAgent(
    { name: 'fresh', model: model.model, fallback: model.fallback, tools: ['look'] },
    fixture.context,
  )
  const conversation = await fixture.context.deps.store.conversations.defaultOf(agent.organizationId, agent.id)
  const conversationId = conversation!.id
  const before = fixture.clock.now()
  const run = await within(20_000, fixture.ask('the question', { agent, conversationId }))
  const events = await fixture.events(run.id)
  const steps = events.filter(({ type }) => type === 'answer-received').length

  assert.ok(run.status === 'completed' || (run.status === 'failed' && run.error), JSON.stringify(run))
  assert.notEqual(run.error?.errorType, 'internal_error', run.error?.detail)
  assert.ok(fixture.clock.now() - before < (steps + 1) * 30_000 + 20_000, 'in time')
  assertWithinLadder(events, { keys: 2 })

  const messages = await allMessages({ ...fixture, conversationId, context: fixture.context })
  const bodies = messages.map(({ body }) => body)
  const answered = answersIn(bodies)
  assert.equal(answered.length, steps, 'one answer to a step')
  const words = answered.flatMap((text) => text.match(/\[[^\]]*\]/g) ?? [])
  assert.deepEqual(words.join(''), answered.join(''), 'nothing was invented')
  for (const word of words) assert.ok(isWhole(word), `${word} broke off and is in the history all the same`)
  assert.equal(bodies.filter(({ role }) => role === 'user').length, steps > 0 ? 1 : 0)
  assert.deepEqual(
    screenOf(await fixture.chunks(run.id)),
    answered.filter((text) => text !== ''),
    'subscribers saw the same',
  )
  return run.stopReason ?? 'none'
}

/** Chance reaches these endings too seldom to be expected in a short run. */
const RARE_ENDINGS: [AttemptFate[]][] = [
  [Array.from({ length: 14 }, () => failureFate('quota-exhausted'))],
  [Array.from({ length: 14 }, () => ({ type: 'answer', finish: 'length', hasText: true, hasThought: false }))],
]

function failureFate(kind: FailureKind): AttemptFate {
  return { type: 'failure', failure: { kind, detail: `it was ${kind}` }, hasSpoken: false }
}

function* partsOf(fate: AttemptFate, text: string): Generator<Part> {
  switch (fate.type) {
    case 'failure':
      if (fate.hasSpoken) yield { type: 'text-delta', text }
      yield { type: 'failure', failure: fate.failure }
      return
    case 'answer':
      if (fate.hasThought) yield { type: 'reasoning-delta', text: 'a thought' }
      if (fate.hasText) yield { type: 'text-delta', text }
      yield { type: 'finish', finish: fate.finish }
      return
    case 'call':
      yield { type: 'text-delta', text }
      yield { type: 'call-start', index: 0, callId: '', tool: 'look' }
      yield { type: 'call-delta', index: 0, json: '{}' }
      yield { type: 'finish', finish: fate.finish }
      return
  }
}

function fateOf(): fc.Arbitrary<AttemptFate> {
  const kinds = (Object.keys(LADDER) as FailureKind[]).filter(
    (kind) => kind !== 'cooling-down' && kind !== 'text-truncated',
  )
  const sometimes = (...values: number[]) => fc.option(fc.constantFrom(...values), { nil: undefined })
  const failure = fc
    .record({
      kind: fc.constantFrom(...kinds),
      retryAfterMs: sometimes(0, 800, 12_000, 90_000),
      statedWindow: sometimes(8_000, 64_000),
      availableOutput: sometimes(32, 2_000),
    })
    .map(({ kind, ...more }): Failure => {
      const stated = Object.entries(more).filter(([, value]) => value !== undefined)
      return { kind, detail: `it was ${kind}`, ...Object.fromEntries(stated) }
    })
  return fc.oneof(
    { weight: 8, arbitrary: fc.record({ type: fc.constant('failure'), failure, hasSpoken: fc.boolean() }) },
    {
      weight: 3,
      arbitrary: fc.record({
        type: fc.constant('answer'),
        finish: fc.constantFrom('stop', 'length', 'length'),
        hasText: fc.boolean(),
        hasThought: fc.boolean(),
      }),
    },
    { weight: 2, arbitrary: fc.record({ type: fc.constant('call'), finish: fc.constantFrom('tool-calls', 'length') }) },
  ) as fc.Arbitrary<AttemptFate>
}

const answers = (): fc.Arbitrary<Answer> =>
  fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...ERROR_NAMES).map((error): Answer => ({ error })) },
    { weight: 2, arbitrary: fc.constantFrom<Answer>({ line: 'reset' }, { line: 'cut' }) },
    {
      weight: 4,
      arbitrary: fc.constantFrom<Answer>(
        { text: '' },
        { text: '', finish: 'length' },
        { text: '', calls: [{ name: 'look' }] },
        { text: '', calls: [{ name: 'look' }], finish: 'length' },
        { text: '', breaks: { how: 'cut', afterChunks: 1 } },
        { text: '', breaks: { how: 'no-finish' } },
        { text: '', breaks: { how: 'error-event', error: 'overloaded', afterChunks: 1 } },
        { reasoning: { text: 'Hm.' } },
        {},
      ),
    },
  )

/** The same answer with its own word in it; records whether the answer is complete. */
function spokenAs(answer: Answer, word: string, whole: Map<string, boolean>): Answer {
  if (!('text' in answer)) return answer
  whole.set(word, answer.breaks === undefined)
  return { ...answer, text: word }
}

/** The texts on a subscriber's screen at the end. */
function screenOf(chunks: Chunk[]): string[] {
  const texts = new Map<string, string>()
  for (const chunk of chunks) {
    if (chunk.message_type === 'assistant_message') texts.set(chunk.id, (texts.get(chunk.id) ?? '') + chunk.content)
    if (chunk.message_type === 'message_reset' && chunk.id) texts.delete(chunk.id)
  }
  return [...texts.values()]
}

async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`nothing happened for ${ms} ms`)), ms)
  })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}
