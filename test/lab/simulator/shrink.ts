import { FAULTS, type Fault } from './faults.ts'
import { runSeed, type SeedOptions, type SeedReport } from './seed.ts'

export type Shrunk = { options: SeedOptions; report: SeedReport /** What all of them break. */; broken: string }

const SHORTER_MS = [2_000, 4_000, 7_000, 10_000, 15_000, 20_000]

/** Seeds that are tried with a single kind of fault. */
const OTHER_DAYS = 12

/**
 * Shrinks a failing seed: the fewest kinds of faults, clients and seconds that violate the same invariant. Removing a
 * fault can shift the rest of the day so that it no longer fails; then other seeds with a single fault are tried.
 */
export async function shrink(seed: number): Promise<Shrunk | undefined> {
  const first = await runSeed({ seed })
  const broken = first.violations.map(promiseOf)[0]
  if (!broken) return undefined
  let smallest: Shrunk = { options: { seed, allow: new Set(first.faults.keys()) }, report: first, broken }

  const attempt = async (change: Partial<SeedOptions>): Promise<boolean> => {
    const options = { ...smallest.options, ...change }
    const report = await runSeed(options)
    const isSame = report.violations.some((text) => promiseOf(text) === broken)
    if (isSame) smallest = { options, report, broken }
    return isSame
  }
  // First without any faults: half of the failing seeds need none.
  await attempt({ allow: new Set() })
  for (const fault of FAULTS) if (smallest.options.allow?.has(fault)) await attempt({ allow: without(smallest, fault) })
  if (smallest.options.allow && smallest.options.allow.size > 1) await tryAlone([...smallest.options.allow])
  for (const clients of [1, 2]) if (await attempt({ clients })) break
  for (const durationMs of SHORTER_MS) if (await attempt({ durationMs })) break
  return smallest

  async function tryAlone(faults: Fault[]): Promise<void> {
    for (let day = 0; day < OTHER_DAYS; day++)
      for (const fault of faults) if (await attempt({ seed: seed + day, exactly: new Set([fault]) })) return
  }
}

const without = ({ options }: Shrunk, fault: Fault): Set<Fault> =>
  new Set([...(options.allow ?? [])].filter((other) => other !== fault))

/** The number of the invariant, or the first words of a violation without a number. */
const promiseOf = (violation: string): string => /^I\d+/.exec(violation)?.[0] ?? violation.split(' ', 5).join(' ')
