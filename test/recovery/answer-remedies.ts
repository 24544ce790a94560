import assert from 'node:assert/strict'
import type { RequestRecord } from '../../src/simulator/recorder.ts'
import { tool } from '../harness/tools.ts'
import { assertAnswered, assertOneExchange, bodyText, exchange, openRecoveryFixture } from './fixture-recovery.ts'
import type { RemedyScenario } from './remedy-scenario.ts'

const LONG = 'Many words. '.repeat(600)

/** Remedies for unusable answers and for conversations that exceed the context window. */
export const ANSWER_REMEDIES: RemedyScenario[] = [
  {
    remedy: 'raise-output-cap',
    promise: 'a truncated call is requested again with a higher output limit, and runs once and complete',
    async play(context) {
      const inputs: unknown[] = []
      const write = tool('write', (input) => {
        inputs.push(input)
        return { status: 'success', output: 'written' }
      })
      const whole = { calls: [{ id: 'c1', name: 'write', arguments: { text: 'all of it' } }] }
      const cut = { calls: [{ id: 'c1', name: 'write', json: '{"text":"all o' }], finish: 'length' as const }
      const setup = await openRecoveryFixture(context, {
        chain: ['custom/m'],
        tools: [write],
        script: [{ times: 1, answer: cut }, { times: 1, answer: whole }, { answer: { text: 'Done.' } }],
      })
      const first = await exchange(setup, 'write it')
      assertAnswered(first, 'Done.', ['call-truncated → raise-output-cap'])
      assert.deepEqual(inputs, [{ text: 'all of it' }])
      assert.deepEqual(first.sent.map(maxTokens), [undefined, 8_192, undefined], 'the next step starts clean')
      assert.deepEqual(
        first.after.map(({ body }) => body.role),
        ['user', 'assistant', 'tool', 'assistant'],
      )
      const second = await exchange(setup, 'two')
      assertAnswered(second, 'Done.', [])
    },
  },
  {
    remedy: 'prompt-again',
    promise: 'after an empty answer the model is prompted again, and the prompt is not in the history',
    async play(context) {
      const setup = await openRecoveryFixture(context, {
        script: [{ times: 1, answer: {} }, { answer: { text: 'Here I am.' } }],
      })
      const first = await exchange(setup, 'one')
      assertAnswered(first, 'Here I am.', ['empty-answer → prompt-again'])
      assertOneExchange(first)
      assert.deepEqual(
        first.sent.map((request) => bodyText(request).includes('Answer the conversation above')),
        [false, true],
      )
      const second = await exchange(setup, 'two')
      assertAnswered(second, 'Here I am.', [])
      assert.ok(!bodyText(second.sent[0]).includes('Answer the conversation above'))
    },
  },
  {
    remedy: 'continue',
    promise: 'text that reached the output limit is continued and becomes one message with its rest',
    async play(context) {
      const setup = await openRecoveryFixture(context, {
        chain: ['custom/m'],
        script: [
          { times: 1, answer: { text: 'One, two, ', finish: 'length' } },
          { times: 1, answer: { text: 'three.' } },
          { answer: { text: 'Well.' } },
        ],
      })
      const first = await exchange(setup, 'count')
      assertAnswered(first, 'One, two, three.', ['text-truncated → continue'])
      assertOneExchange(first)
      assert.ok(bodyText(first.sent[1]).includes('One, two, '), 'the request has the text so far')
      assert.deepEqual(first.sent.map(maxTokens), [undefined, 8_192])
      const second = await exchange(setup, 'two')
      assertAnswered(second, 'Well.', [])
      assert.deepEqual(second.sent.map(maxTokens), [undefined])
    },
  },
  {
    remedy: 'adopt-window',
    promise: 'a context window the provider states is used at once, in the next turn and after a restart',
    async play(context) {
      const setup = await openRecoveryFixture(context, {
        chain: ['custom/m'],
        script: [
          { times: 1, answer: { error: 'context-overflow-with-window', limit: 4_000 } },
          { when: { contains: 'Summarize the conversation' }, answer: { text: 'A summary.' } },
          { answer: { text: LONG, usage: 'none' } },
        ],
      })
      const first = await exchange(setup, 'one')
      assertAnswered(first, LONG, ['context-overflow → adopt-window'])
      assertOneExchange(first)
      assert.equal(first.failures[0]?.window, 4_000)
      await setup.fixture.restart()
      assertAnswered(await exchange(setup, 'two'), LONG, [])
      const third = await exchange(setup, 'three')
      assertAnswered(third, LONG, ['context-overflow → compact'])
      assert.match(third.failures[0]!.failure.detail, /no request was sent/)
      assert.match(third.failures[0]!.failure.detail, /window of 4000/)
    },
  },
  {
    remedy: 'compact',
    promise: 'a conversation too long for the provider is summarized, stays stored, and the question is answered',
    async play(context) {
      const setup = await openRecoveryFixture(context, {
        script: [
          { when: { contains: 'Summarize the conversation' }, answer: { text: 'A summary.' } },
          { when: { lastContains: 'two', messagesAbove: 3 }, answer: { error: 'context-overflow' } },
          { when: { lastContains: 'two' }, answer: { text: 'Short.' } },
          { answer: { text: LONG } },
        ],
      })
      assertAnswered(await exchange(setup, 'one'), LONG, [])
      const second = await exchange(setup, 'two')
      assertAnswered(second, 'Short.', ['context-overflow → compact'])
      assert.equal(second.sent.length, 3)
      assert.ok(bodyText(second.sent[2]).includes('A summary.') && !bodyText(second.sent[2]).includes(LONG))
      assert.deepEqual(
        second.after.map(({ body }) => body.role),
        ['user', 'assistant', 'summary', 'user', 'assistant'],
      )
      assertAnswered(await exchange(setup, 'three'), LONG, [])
    },
  },
  {
    remedy: 'leave-out',
    promise: 'while no model can write a summary, a mark stands for the messages, which stay stored',
    async play(context) {
      const setup = await openRecoveryFixture(context, {
        script: [
          { when: { contains: 'Summarize the conversation' }, answer: { error: 'context-overflow' } },
          { when: { lastContains: 'two', messagesAbove: 3 }, answer: { error: 'context-overflow' } },
          { answer: { text: LONG } },
        ],
      })
      assertAnswered(await exchange(setup, 'one'), LONG, [])
      const second = await exchange(setup, 'two')
      assert.equal(second.run.stopReason, 'end_turn')
      assert.equal(second.story.at(-1), 'context-overflow → leave-out')
      const summary = second.after.find(({ body }) => body.role === 'summary')?.body
      assert.ok(summary?.role === 'summary' && summary.text.includes('no configured model could summarize them'))
      assert.deepEqual(second.after.slice(0, second.before.length), second.before)
    },
  },
]

const maxTokens = ({ body }: RequestRecord): unknown => (body as { max_tokens?: number }).max_tokens
