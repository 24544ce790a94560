import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { defined } from '../../src/core/defined.ts'
import type { Store } from '../../src/ports/store.ts'
import { checkStore } from '../../src/service/store/check-store.ts'
import type { RequestRecord } from '../../src/simulator/recorder.ts'
import type { Script } from '../../src/simulator/script.ts'
import { tool } from '../harness/tools.ts'
import { signIn } from './connection-remedies.ts'
import {
  allMessages,
  openRecoveryFixture,
  type RecoveryFixture,
  type RecoveryFixtureOptions,
} from './fixture-recovery.ts'

// When a process dies between any two attempts, the next one continues: spent remedies stay spent, so the provider gets
// exactly the requests it would have got without the death, and one answer is stored.

const CLAUDE = 'anthropic/claude-sonnet-4-5'
const LONG = 'Many words. '.repeat(600)

type Row = {
  name: string
  options: Omit<RecoveryFixtureOptions, 'script'>
  script: Script
  before?(setup: RecoveryFixture): Promise<unknown>
  story: string[]
  answer: string
}

const ROWS: Row[] = [
  {
    name: 'broken connections and server errors',
    options: { chain: ['custom/first', CLAUDE] },
    script: [
      { when: { model: 'first' }, times: 4, answer: { line: 'reset' } },
      { when: { model: 'first' }, answer: { error: 'server-error' } },
      { times: 1, answer: { error: 'overloaded' } },
      { answer: { text: 'From the fallback.' } },
    ],
    story: [
      ...Array<string>(3).fill('unreachable → wait'),
      'unreachable → rebuild-transport',
      'server-error → next-target',
      'overloaded → wait',
    ],
    answer: 'From the fallback.',
  },
  {
    name: 'rate-limited and rejected keys',
    options: { chain: ['openai/first', CLAUDE], environment: { OPENAI_API_KEY: 'key-1,key-2' } },
    script: [
      { when: { key: 'key-1' }, answer: { error: 'rate-limit' } },
      { when: { key: 'key-2' }, answer: { error: 'invalid-key' } },
      { times: 1, answer: {} },
      { answer: { text: 'Here.' } },
    ],
    story: [
      'rate-limited → retry-credential',
      'rate-limited → next-credential',
      'auth-rejected → refresh-credential',
      'auth-rejected → next-target',
      'empty-answer → prompt-again',
    ],
    answer: 'Here.',
  },
  {
    name: 'an expired token and a model that sends only reasoning',
    options: { chain: ['openai/first', CLAUDE], environment: { OPENAI_API_KEY: '' } },
    before: (setup) => signIn(setup, 'openai'),
    script: [
      { when: { key: 'access-1' }, answer: { error: 'expired' } },
      { when: { key: 'access-2' }, times: 2, answer: { reasoning: { text: 'Hm.' } } },
      { when: { key: 'access-2' }, times: 1, answer: { error: 'payment-required' } },
      { answer: { text: 'At last.' } },
    ],
    story: [
      'auth-rejected → refresh-credential',
      'thinking-only → prompt-again',
      'thinking-only → prompt-again',
      'quota-exhausted → next-target',
    ],
    answer: 'At last.',
  },
  {
    name: 'a text that is continued after a failure',
    options: { chain: ['custom/first'] },
    script: [
      { times: 1, answer: { text: 'One, ', finish: 'length' } },
      { times: 1, answer: { error: 'overloaded' } },
      { times: 1, answer: { text: 'two, ', finish: 'length' } },
      { answer: { text: 'three.' } },
    ],
    story: ['text-truncated → continue', 'overloaded → wait', 'text-truncated → continue'],
    answer: 'One, two, three.',
  },
  {
    name: 'a compaction after a tool call',
    options: { chain: ['custom/first'], tools: [tool('look', undefined, { effects: 'none' })] },
    before: async ({ fixture, simulator }) => {
      simulator.script({ answer: { text: LONG } })
      await fixture.ask('earlier')
    },
    script: [
      { times: 1, answer: { calls: [{ id: 'c1', name: 'look' }] } },
      { times: 1, answer: { error: 'context-overflow' } },
      { when: { contains: 'Summarize the conversation' }, times: 1, answer: { error: 'server-error' } },
      { when: { contains: 'Summarize the conversation' }, answer: { text: 'A summary.' } },
      { answer: { text: 'Done.' } },
    ],
    story: ['context-overflow → compact', 'server-error → wait'],
    answer: 'Done.',
  },
]

for (const row of ROWS)
  test(`${row.name}: after a death at any commit no remedy is spent twice and there is one correct answer`, async (context) => {
    const whole = await play(context, row)
    assert.deepEqual(whole.story, row.story)
    assert.ok(whole.commits > row.story.length)
    for (let after = 1; after <= whole.commits; after++) {
      const died = await play(context, row, after)
      assert.deepEqual(died.story, row.story, `after commit ${after}`)
      assert.deepEqual(died.asked, whole.asked, `after commit ${after}: the provider gets the same requests`)
      assert.deepEqual(died.roles, whole.roles)
    }
  })

test('a process that dies during an answer repeats that request, and nothing else changes', async (context) => {
  const row: Row = {
    ...ROWS[1]!,
    script: ROWS[1]!.script.map(({ times: _, ...rule }) => ({
      ...rule,
      ...defined({ times: 'error' in rule.answer ? undefined : 1 }),
      answer: { ...rule.answer, pace: { beforeHeadersMs: 40 } },
    })) as Script,
  }
  for (let number = 1; number <= 4; number++) {
    const setup = await openRecoveryFixture(context, { ...row.options, script: row.script })
    const runId = await setup.fixture.send('go on')
    await setup.simulator.waitForRequests(number)
    await setup.fixture.crash()
    await setup.fixture.restart()
    const run = await setup.fixture.wait(runId)
    assert.equal(run.stopReason, 'end_turn')
    assert.deepEqual((await setup.fixture.story(runId)).slice(0, 4), row.story.slice(0, 4))
    const asked = setup.simulator.requests.filter(({ protocol }) => protocol === 'openai-chat').length
    assert.equal(asked, 5, 'four attempts and the interrupted one')
    assert.equal((await setup.fixture.answers()).length, 1)
  }
})

type Played = { story: string[]; asked: unknown[]; roles: string[]; commits: number }

/** Plays the row, with a death right after the given commit. */
async function play(context: TestContext, row: Row, dieAfter?: number): Promise<Played> {
  let commits = 0
  let isCounting = false
  const { promise: death, resolve: die } = Promise.withResolvers<void>()
  const wrapStore = (store: Store): Store => ({
    ...store,
    events: {
      ...store.events,
      async append(append) {
        const result = await store.events.append(append)
        if (isCounting && ++commits === dieAfter) void setup.fixture.crash().then(die)
        return result
      },
    },
  })
  const setup = await openRecoveryFixture(context, { ...row.options, wrapStore })
  await row.before?.(setup)
  setup.simulator.script(...row.script)
  const seen = setup.simulator.requests.length
  isCounting = true
  const runId = await setup.fixture.send('go on')
  if (dieAfter !== undefined) {
    await death
    await setup.fixture.restart()
  }
  const run = await setup.fixture.wait(runId)
  assert.equal(run.stopReason, 'end_turn', (await setup.fixture.story(runId)).join(', '))
  assert.equal((await setup.fixture.answers()).at(-1), row.answer)
  assert.deepEqual((await checkStore(setup.fixture.context)).violations, [])
  const played = {
    story: await setup.fixture.story(runId),
    asked: setup.simulator.requests.slice(seen).map(asAsked),
    roles: (await allMessages(setup.fixture)).map(({ body }) => body.role),
    commits,
  }
  await setup.fixture.stop()
  return played
}

/** The parts of a request to compare; ids of calls are random. */
const asAsked = ({ path, key, model, body }: RequestRecord) => ({
  path,
  key,
  model,
  body: typeof body === 'string' ? 'a form' : JSON.stringify(body).replaceAll(/call[-_][\w-]{8,}/g, 'call'),
})
