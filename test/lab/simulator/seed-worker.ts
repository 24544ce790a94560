import { reportSeeds } from './report-seeds.ts'
import { runSeed } from './seed.ts'
import { runTenantDay } from './tenants.ts'

await reportSeeds(runSeed)
/** One line per seed, read by the parent. */
export type SeedLine = {
  seed: number
  hash: string
  events: number
  runs: number
  /** Processor time, so that the rate does not depend on other load. */
  cpuMs: number
  violations: string[]
  faults: Record<string, number>
  reached: Record<string, number>
  /** Only if the seed was run twice. */
  isRepeatable?: boolean
}

const [from, to, step, repeatEvery] = process.argv.slice(2).map(Number) as [number, number, number, number]

/** Runs the seeds from, from + step, … up to `to`. The parent may kill this process at any time. */
for (let seed = from; seed <= to; seed += step) {
  const before = process.cpuUsage()
  const report = await runSeed({ seed })
  const tenants = await runTenantDay(seed)
  const { user, system } = process.cpuUsage(before)
  const line: SeedLine = {
    seed,
    hash: report.hash,
    events: report.events,
    runs: report.runs,
    cpuMs: (user + system) / 1_000,
    violations: [...report.violations, ...tenants],
    faults: Object.fromEntries(report.faults),
    reached: Object.fromEntries(report.reached),
  }
  if (repeatEvery > 0 && seed % repeatEvery === 0) line.isRepeatable = (await runSeed({ seed })).hash === report.hash
  process.stdout.write(`${JSON.stringify(line)}\n`)
}
