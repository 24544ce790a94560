import type { SeedReport } from './seed.ts'

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

/** Runs the seeds from, from + step, … up to `to`. The parent may kill this process at any time. */
export async function reportSeeds(runSeed: (options: { seed: number }) => Promise<SeedReport>): Promise<void> {
  const [from, to, step, repeatEvery] = process.argv.slice(2).map(Number) as [number, number, number, number]
  for (let seed = from; seed <= to; seed += step) {
    const before = process.cpuUsage()
    const report = await runSeed({ seed })
    const { user, system } = process.cpuUsage(before)
    const line: SeedLine = {
      seed,
      hash: report.hash,
      events: report.events,
      runs: report.runs,
      cpuMs: (user + system) / 1_000,
      violations: report.violations,
      faults: Object.fromEntries(report.faults),
      reached: Object.fromEntries(report.reached),
    }
    if (repeatEvery > 0 && seed % repeatEvery === 0) line.isRepeatable = (await runSeed({ seed })).hash === report.hash
    process.stdout.write(`${JSON.stringify(line)}\n`)
  }
}
