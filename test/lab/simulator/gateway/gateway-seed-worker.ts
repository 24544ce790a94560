import type { SeedLine } from '../seed-worker.ts'
import { runGatewaySeed } from './gateway-seed.ts'

const [from, to, step, repeatEvery] = process.argv.slice(2).map(Number) as [number, number, number, number]

/** Runs days of the gateway from, from + step, … up to `to`: one line for each, read by the parent. */
for (let seed = from; seed <= to; seed += step) {
  const before = process.cpuUsage()
  const { hash, events, messages, violations } = await runGatewaySeed(seed)
  const { user, system } = process.cpuUsage(before)
  const line: SeedLine = {
    seed,
    hash,
    events,
    runs: messages,
    cpuMs: (user + system) / 1_000,
    violations,
    faults: {},
    reached: {},
  }
  if (repeatEvery > 0 && seed % repeatEvery === 0) line.isRepeatable = (await runGatewaySeed(seed)).hash === hash
  process.stdout.write(`${JSON.stringify(line)}\n`)
}
