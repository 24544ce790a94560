import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PLANTED_BUGS } from '../planted/bugs.ts'
import { REGRESSIONS } from './regressions.ts'
import { runSeeds } from './run-seeds.ts'
import { runSeed } from './seed.ts'
import { storyLines } from './story.ts'

const SEEDS = 6

test(`${SEEDS} simulated days violate no invariant`, async () => {
  const report = await runSeeds({ from: 1, to: SEEDS, repeatEvery: SEEDS })
  assert.deepEqual(report.violations, [])
  assert.equal(report.seeds, SEEDS)
  assert.ok(report.repeated > 0, 'some seeds were run twice')
})

test('every planted bug that a regression names exists', () => {
  const names = new Set(PLANTED_BUGS.map((bug) => bug.name))
  assert.deepEqual(
    REGRESSIONS.flatMap(({ planted }) => (planted && !names.has(planted) ? [planted] : [])),
    [],
  )
})

test('a seed gives the same story every time, with readable names', async () => {
  const [one, other] = [await runSeed({ seed: 42 }), await runSeed({ seed: 42 })]
  assert.deepEqual(one.story, other.story)
  assert.equal(one.hash, other.hash)
  const story = storyLines(one).join('\n')
  assert.match(story, /claims run:c\d/)
  assert.doesNotMatch(story, /run-[0-9a-f]{8}-/)
})
