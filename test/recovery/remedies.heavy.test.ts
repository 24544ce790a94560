import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LADDER, type Rung } from '../../src/core/recovery.ts'
import { caseCount } from '../harness/case-count.ts'
import { ANSWER_REMEDIES } from './answer-remedies.ts'
import { CONNECTION_REMEDIES } from './connection-remedies.ts'
import type { RemedyScenario } from './remedy-scenario.ts'
import { REQUEST_REMEDIES } from './request-remedies.ts'

// Each remedy works over real HTTP, does not change the history and is reset with the next good answer. Each of these
// promises fails when its remedy is removed from the ladder, which is tested here for every remedy.

const SCENARIOS: RemedyScenario[] = [...CONNECTION_REMEDIES, ...REQUEST_REMEDIES, ...ANSWER_REMEDIES]

for (const { remedy, promise, play } of SCENARIOS) test(`${remedy}: ${promise}`, play)

for (const { remedy, play } of SCENARIOS.slice(0, caseCount(SCENARIOS.length))) {
  test(`${remedy}: without it in the ladder that promise fails`, async (context) => {
    const restore = takeOut(remedy)
    try {
      await assert.rejects(play(context), assert.AssertionError)
    } finally {
      restore()
    }
  })
}

test('every remedy of the ladder has a scenario', () => {
  const all = new Set<Rung>(Object.values(LADDER).flat())
  assert.deepEqual([...all].sort(), [...new Set(SCENARIOS.map(({ remedy }) => remedy))].sort())
})

function takeOut(remedy: Rung): () => void {
  const ladder = LADDER as Record<string, readonly Rung[]>
  const whole = { ...ladder }
  for (const kind of Object.keys(ladder)) ladder[kind] = whole[kind]!.filter((rung) => rung !== remedy)
  return () => void Object.assign(ladder, whole)
}
