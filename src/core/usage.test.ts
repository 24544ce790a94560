import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TurnEvent } from './event.ts'
import { usageOfRun } from './usage.ts'

test('the tokens of a run include its summaries and the failed attempts that were counted', () => {
  const events = [
    { type: 'turn-ended' },
    { type: 'answer-received', usage: { promptTokens: 10, completionTokens: 2, cachedTokens: 4 } },
    { type: 'context-compacted', usage: { promptTokens: 100, completionTokens: 30 } },
    { type: 'attempt-failed', usage: { promptTokens: 5, completionTokens: 1, cachedTokens: 1 } },
    { type: 'attempt-failed' },
  ].map((event) => ({ event: event as TurnEvent }))
  assert.deepEqual(usageOfRun(events), { promptTokens: 115, completionTokens: 33, cachedTokens: 5 })
})
