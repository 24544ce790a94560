import { runSeed } from './seed.ts'

/** One line for the parent, per seed. */
export type SeedLine = {
  seed: number
  hash: string
  events: number
  runs: number
  /** Processor time, so that the rate can be told on a machine that has other things to do. */
  cpuMs: number
  violations: string[]
  faults: Record<string, number>
  reached: Record<string, number>
  /** Only where the seed was run a second time. */
  isRepeatable?: boolean
}

const [from, to, step, repeatEvery] = process.argv.slice(2).map(Number) as [number, number, number, number]

/** The seeds from, from + step, … up to `to`. The parent reads, and ends this process when it has seen enough. */
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
