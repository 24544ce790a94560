import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cutSummary, questionIn, withQuestion } from './quoted-question.ts'

test('a summary that is cut still quotes the question that is to be answered', () => {
  const summary = withQuestion('s'.repeat(5_000), 'Which of the two?')
  const cut = cutSummary(summary, 400)
  assert.ok(cut.length <= 400)
  assert.equal(questionIn(cut), 'Which of the two?')
  assert.match(questionIn(cutSummary(withQuestion('short', `BEGIN ${'q'.repeat(5_000)} END`), 400))!, /^BEGIN .* END$/)
})

test('a summary without a question is cut as any text', () => {
  assert.match(cutSummary('s'.repeat(5_000), 400), /^s+ \[… \d+ characters left out …\] s+$/)
  assert.equal(questionIn('no question'), undefined)
})
