import assert from 'node:assert/strict'
import { availableParallelism } from 'node:os'
import { test } from 'node:test'
import { REGRESSIONS } from './regressions.ts'
import { neverReached, runSeeds } from './run-seeds.ts'
import { runSeed } from './seed.ts'

const SEEDS = Number(process.env.SEEDS ?? 100)
/** A hundred seeds from here reach every rare state; a change of the code may need another start. */
const FIRST = 501

test(`${SEEDS} simulated days violate no invariant and reach every rare state`, { timeout: 600_000 }, async () => {
  const report = await runSeeds({
    from: FIRST,
    to: FIRST + SEEDS - 1,
    workers: availableParallelism(),
    repeatEvery: 50,
  })
  assert.deepEqual(report.violations, [])
  assert.equal(report.seeds, SEEDS)
  assert.deepEqual(neverReached(report.reached), [])
  assert.ok(report.repeated > 0, 'some seeds were run twice')
})

for (const { seed, found, faults } of REGRESSIONS)
  test(`seed ${seed} stays clean: it once found that ${found}`, async () => {
    assert.deepEqual((await runSeed({ seed })).violations, [])
    if (faults) assert.deepEqual((await runSeed({ seed, allow: new Set(faults) })).violations, [])
  })
