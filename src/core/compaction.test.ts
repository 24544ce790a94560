import assert from 'node:assert/strict'
import { test } from 'node:test'
import { COMPACTION, type Placed, planCompaction } from './compaction.ts'

const said = (position: number, role: 'user' | 'system', text: string): Placed => ({
  position,
  body: { role, content: [{ type: 'text', text }] },
})
const answered = (position: number, text: string): Placed => ({
  position,
  body: { role: 'assistant', content: [{ type: 'text', text }], calls: [] },
})
const view = [
  said(0, 'user', 'one '.repeat(20)),
  answered(1, 'two '.repeat(20)),
  said(2, 'user', 'three'),
  answered(3, 'four'),
]
const options = { settings: { ...COMPACTION, mode: 'all' as const }, window: 100_000, fixedTokens: 5_000 }

test('a summary nobody asked for is not made for next to nothing; one that was asked for is, of all there is', () => {
  assert.equal(planCompaction(view, { ...options, isFollowed: true }), undefined)
  const plan = planCompaction(view, { ...options, isFollowed: true, isAskedFor: true })
  assert.deepEqual([plan?.replaced.length, plan?.contextStart], [4, 4])
})
