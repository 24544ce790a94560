import type { KillReport } from '../kill/harness.ts'
import type { HuntResult } from '../planted/hunt.ts'
import { neverReached, RARE_STATES, type SeedsReport, seedsPerCoreMinute } from '../simulator/run-seeds.ts'

/** The results of one lab run. */
export type LabReport = {
  startedAt: string
  commit: string
  ms: number
  seeds: SeedsReport
  /** Simulations of other work than turns, by name. */
  others: { name: string; report: SeedsReport }[]
  planted: HuntResult[]
  kills: { database: string; report: KillReport }[]
}

/** The output of `--json`: one line for scripts. */
export function summaryOf({ seeds, others, planted, kills }: LabReport) {
  const recoveries = kills.flatMap(({ report }) => report.recoveries)
  return {
    seeds: seeds.seeds,
    violations: [seeds, ...others.map(({ report }) => report)].reduce((sum, one) => sum + one.violations.length, 0),
    other_seeds: others.reduce((sum, { report }) => sum + report.seeds, 0),
    planted: planted.length,
    planted_found: planted.filter(isFound).length,
    kills: kills.reduce((sum, { report }) => sum + report.kills, 0),
    kill_violations: kills.reduce((sum, { report }) => sum + report.violations.length, 0),
    recovery_p99_ms: percentile(recoveries, 0.99),
    recovery_max_ms: percentile(recoveries, 1),
    seeds_per_core_minute: seedsPerCoreMinute(seeds),
    events: seeds.events,
    states_reached: RARE_STATES.length - neverReached(seeds.reached).length,
    states: RARE_STATES.length,
  }
}

/** Why this lab run fails, in sentences; empty if it passes. */
export function complaintsOf({ seeds, others, planted, kills }: LabReport, { isLong }: { isLong: boolean }): string[] {
  return [
    ...seeds.violations.map(({ seed, violations }) => `seed ${seed}: ${violations[0]}`),
    ...others.flatMap(({ name, report }) =>
      report.violations.map(({ seed, violations }) => `${name}, seed ${seed}: ${violations[0]}`),
    ),
    ...planted.flatMap(({ name, seed, fault }) => {
      if (fault) return [fault]
      return seed === undefined ? [`the planted bug "${name}" was not found`] : []
    }),
    ...(isLong ? neverReached(seeds.reached).map((state) => `never reached: ${state}`) : []),
    ...kills.flatMap(({ database, report }) => report.violations.map((text) => `kills on ${database}: ${text}`)),
  ]
}

export const isFound = ({ seed }: HuntResult): boolean => seed !== undefined

export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((one, other) => one - other)
  return Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0)
}
