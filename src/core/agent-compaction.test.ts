import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compactionSettingsOf } from './agent-compaction.ts'
import { DEFAULT_COMPACTION } from './compaction.ts'
import type { Json } from './json.ts'

const of = (compaction_settings: Json) => compactionSettingsOf({ settings: { wire: { compaction_settings } } })

test('the compaction settings of an agent are used, and missing ones have defaults', () => {
  const stored = { model: 'test/small', mode: 'all', clip_chars: 9, prompt: null, sliding_window_percentage: 0.5 }
  assert.deepEqual(of(stored), { model: 'test/small', mode: 'all', clipChars: 9, slidingWindowPercentage: 0.5 })
  assert.deepEqual(of({ model: 'letta/auto', mode: 'sideways' }), DEFAULT_COMPACTION)
  assert.equal(of(null), undefined)
  assert.equal(compactionSettingsOf({}), undefined)
})

test('the threshold of an agent wins over that of the operator, and one out of range has no effect', () => {
  const thresholdOf = (stored: Json, operator?: number) =>
    compactionSettingsOf({ settings: { wire: { compaction_settings: stored } } }, operator)?.threshold
  assert.equal(thresholdOf({ threshold: 0.5 }), 0.5)
  assert.equal(thresholdOf({ threshold: 0.5 }, 0.7), 0.5)
  for (const stored of [null, {}, { threshold: 7 }, { threshold: 0 }, { threshold: 'half' }])
    assert.equal(thresholdOf(stored, 0.7), 0.7)
  assert.equal(thresholdOf({}), undefined)
})
