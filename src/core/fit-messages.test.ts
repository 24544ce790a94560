import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { fitMessages } from './fit-messages.ts'
import { historyFaults } from './history.ts'
import type { MessageBody } from './message.ts'
import { estimateAll } from './token-estimate.ts'
import { settle } from './tool-call.ts'

const text = (length: number) => [{ type: 'text' as const, text: 'a'.repeat(length) }]
const call = (callId: string, length: number) => ({
  callId,
  tool: 'look',
  input: { path: 'p'.repeat(length), flag: true },
  digest: '',
  needsApproval: false,
  effects: 'none' as const,
  parallel: true,
})

type Exchange = { question: number; calls: number[]; answer: number }
const exchangeOf = ({ question, calls, answer }: Exchange, index: number): MessageBody[] => {
  const made = calls.map((length, position) => call(`${index}-${position}`, length))
  const outcomes = made.map(({ callId }) => ({ ...settle(callId, 'lost'), output: 'o'.repeat(question) }))
  const step: MessageBody[] = [
    { role: 'assistant', content: text(answer), calls: made },
    { role: 'tool', outcomes },
  ]
  return [
    { role: 'user', content: text(question) },
    ...(made.length > 0 ? step : []),
    { role: 'assistant', content: text(answer + 1), calls: [] },
  ]
}

const length = fc.oneof(fc.integer({ min: 1, max: 200 }), fc.integer({ min: 1, max: 60_000 }))
const exchange = fc.record({ question: length, calls: fc.array(length, { maxLength: 2 }), answer: length })

test('any history fits after it was cut, keeps its last message, and is valid for providers', () => {
  fc.assert(
    fc.property(
      fc.array(exchange, { minLength: 1, maxLength: 40 }),
      fc.integer({ min: 400, max: 20_000 }),
      (all, budget) => {
        const history = all.flatMap(exchangeOf)
        const before = JSON.stringify(history)
        const fit = fitMessages(history, budget)
        assert.deepEqual(historyFaults(fit), [])
        assert.ok(estimateAll(fit) <= Math.max(budget, estimateAll(history) <= budget ? budget : budget * 1.1))
        assert.equal(fit.at(-1)?.role, history.at(-1)?.role)
        assert.equal(JSON.stringify(history), before, 'the messages themselves are unchanged')
        if (estimateAll(history) <= budget) assert.deepEqual(fit, history)
      },
    ),
    { numRuns: 200 },
  )
})

test('left out messages and cut texts have a visible mark, and the last question stays', () => {
  const long: MessageBody[] = [
    { role: 'user', content: text(50) },
    ...exchangeOf({ question: 9_000, calls: [], answer: 9_000 }, 1),
  ]
  const fit = fitMessages(long, 1_000)
  const [mark] = fit
  assert.ok(mark?.role === 'summary' ? /1 earlier messages left out/.test(mark.text) : fit.length === long.length)
  assert.match(JSON.stringify(fit), /\[… \d+ characters left out …\]/)
})

test('the question stays although a prompt for this request alone follows it', () => {
  const steps = Array.from({ length: 30 }, (_, index) =>
    exchangeOf({ question: 400, calls: [50], answer: 400 }, index).slice(1, 3),
  )
  const question: MessageBody = { role: 'user', content: [{ type: 'text', text: 'Which of the two?' }] }
  const prompt: MessageBody = { role: 'user', content: [{ type: 'text', text: 'Answer now.' }] }
  const fit = fitMessages([question, ...steps.flat(), prompt], 1_000, 1)
  assert.ok(fit.includes(question) && fit.includes(prompt))
})
