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
