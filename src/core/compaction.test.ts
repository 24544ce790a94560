import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DEFAULT_COMPACTION, type PositionedMessage, planCompaction } from './compaction.ts'

const input = (position: number, role: 'user' | 'system', text: string): PositionedMessage => ({
  position,
  body: { role, content: [{ type: 'text', text }] },
})
const answered = (position: number, text: string): PositionedMessage => ({
  position,
  body: { role: 'assistant', content: [{ type: 'text', text }], calls: [] },
})
const view = [
  input(0, 'user', 'one '.repeat(20)),
  answered(1, 'two '.repeat(20)),
  input(2, 'user', 'three'),
  answered(3, 'four'),
]
const options = { settings: { ...DEFAULT_COMPACTION, mode: 'all' as const }, window: 100_000, fixedTokens: 5_000 }

test('an automatic compaction needs a minimum gain; a requested one summarizes everything', () => {
  assert.equal(planCompaction(view, { ...options, hasNewerInput: true }), undefined)
  const plan = planCompaction(view, { ...options, hasNewerInput: true, isRequested: true })
  assert.deepEqual([plan?.replaced.length, plan?.contextStart], [4, 4])
})
