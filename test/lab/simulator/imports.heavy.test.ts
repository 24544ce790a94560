import assert from 'node:assert/strict'
import { test } from 'node:test'
import { huntAll } from '../planted/hunt.ts'
import { IMPORT_BUGS } from '../planted/import-bugs.ts'
import { runImportSeed } from './import-seed.ts'
import { IMPORT_WORKER, runSeeds } from './run-seeds.ts'

const SEEDS = 6

test(`${SEEDS} simulated imports, with processes that die and a server that fails, end with both sides equal`, async () => {
  const report = await runSeeds({ from: 1, to: SEEDS, repeatEvery: 0, worker: IMPORT_WORKER })
  assert.deepEqual(report.violations, [])
  assert.ok(report.reached['deaths of importers']! > SEEDS)
})

test('a seed of an import gives the same story every time', async () => {
  const [one, other] = [await runImportSeed({ seed: 4 }), await runImportSeed({ seed: 4 })]
  assert.equal(one.hash, other.hash)
})

test('the lab finds a cursor that moves too early', async () => {
  const [found] = await huntAll(
    IMPORT_BUGS.filter(({ name }) => name.startsWith('the cursor moves')),
    { workers: 1 },
  )
  assert.notEqual(found?.seed, undefined)
})
