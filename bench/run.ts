import { parseArgs } from 'node:util'
import { openBenchRunner, SideFailed } from './bench-runner.ts'
import { BENCHMARKS, type BenchmarkName, type Size } from './benchmarks.ts'
import { type Figure, toJsonLine, toTable } from './figures.ts'

const USAGE = `npm run bench -- [--json] [--quick] [--only ${Object.keys(BENCHMARKS).join('|')}]`

/**
 * Compares Holdfast with a hand-written loop, as ratios of one run on one machine. A figure over its budget is reported
 * but is not a failure: timings are not tests. A side that did not do its work is a failure.
 */
async function main(): Promise<number> {
  const { values } = parseArgs({
    options: { json: { type: 'boolean' }, quick: { type: 'boolean' }, only: { type: 'string' } },
  })
  const names = values.only === undefined ? Object.keys(BENCHMARKS) : [values.only]
  const unknown = names.find((name) => !(name in BENCHMARKS))
  if (unknown !== undefined) throw new SideFailed(`There is no benchmark "${unknown}". Usage: ${USAGE}`)
  const size: Size = values.quick ? 'quick' : 'full'

  const runner = await openBenchRunner()
  const figures: Figure[] = []
  try {
    for (const name of names) {
      const from = performance.now()
      figures.push(...(await BENCHMARKS[name as BenchmarkName](runner, size)))
      if (!values.json) process.stderr.write(`${name}: ${Math.round((performance.now() - from) / 1_000)} s\n`)
    }
  } finally {
    runner.close()
  }
  console.log(values.json ? toJsonLine(figures) : toTable(figures))
  return 0
}

try {
  process.exitCode = await main()
} catch (error) {
  if (!(error instanceof SideFailed)) throw error
  process.stderr.write(`bench: ${error.message}\n`)
  process.exitCode = 1
}
