import type { Check, Sample, Totals } from './sample.ts'

export type Finding = { name: string; isGood: boolean; detail: string }
export type Verdict = { isGood: boolean; findings: Finding[] }

const MB = 1024 * 1024

type Curve = {
  name: string
  of(sample: Sample): number
  /** The value of a window: the maximum for a log file, the median for other curves. */
  take: 'middle' | 'ceiling'
  /** Gain between warm-up and end that does not count as growth. */
  allowance: number
  format(value: number): string
}

const megabytes = (bytes: number): string => `${(bytes / MB).toFixed(1)} MB`
const plain = (value: number): string => value.toFixed(1)

const CURVES: readonly Curve[] = [
  // SQLite's page caches (64 MB for each of two writers, see storage/sqlite.ts) fill as the files grow, for minutes.
  { name: 'resident memory', of: ({ rss }) => rss, take: 'middle', allowance: 128 * MB, format: megabytes },
  { name: 'heap', of: ({ heapAfterGc }) => heapAfterGc, take: 'middle', allowance: 8 * MB, format: megabytes },
  { name: 'open files', of: ({ files }) => files, take: 'middle', allowance: 4, format: plain },
  // A checkpoint begins at 32 MB of log and the file is cut back to 64.
  { name: 'write-ahead log', of: ({ log }) => log, take: 'ceiling', allowance: 64 * MB, format: megabytes },
]

const WINDOWS = 12
const WARM_UP = 1 / 3

export type SoakMeasurements = {
  samples: readonly Sample[]
  checks: readonly Check[]
  totals: Totals
  stuck: readonly string[]
}

export function judge({
  samples,
  checks,
  totals,
  stuck,
  faults,
}: SoakMeasurements & { faults: readonly string[] }): Verdict {
  const violations = checks.flatMap((check) => check.violations)
  const findings: Finding[] = [
    ...CURVES.map((curve) => judgeCurve(curve, samples)),
    {
      name: 'invariants',
      isGood: violations.length === 0 && checks.length > 0,
      detail: `${checks.length} checks, ${violations.length} violations${brief(violations)}`,
    },
    { name: 'stuck runs', isGood: stuck.length === 0, detail: `${stuck.length}${brief(stuck)}` },
    { name: 'faults reported', isGood: faults.length === 0, detail: `${faults.length}${brief(faults)}` },
    {
      name: 'traffic',
      isGood: totals.sent > 0 && (totals.endings.end_turn ?? 0) > 0,
      detail: `${totals.sent} messages in ${totals.conversations} conversations`,
    },
  ]
  return { isGood: findings.every((finding) => finding.isGood), findings }
}

function judgeCurve({ name, of, take, allowance, format }: Curve, samples: readonly Sample[]): Finding {
  const warm = samples.slice(Math.floor(samples.length * WARM_UP))
  const size = Math.max(1, Math.floor(warm.length / WINDOWS))
  const windows = Array.from({ length: Math.floor(warm.length / size) }, (_, index) =>
    warm.slice(index * size, (index + 1) * size),
  )
  const points = windows.map((window) => ({ at: window[0]!.at, value: TAKE[take](window.map(of)) }))
  const growth = slope(points) * ((points.at(-1)?.at ?? 0) - (points[0]?.at ?? 0))
  const minutes = ((points.at(-1)?.at ?? 0) - (points[0]?.at ?? 0)) / 60
  const last = points.at(-1)?.value ?? 0
  const detail = `${format(last)} at the end, ${growth >= 0 ? '+' : '−'}${format(Math.abs(growth))} in ${minutes.toFixed(1)} minutes after warm-up (allowed +${format(allowance)})`
  return { name, isGood: growth <= allowance, detail }
}

const TAKE: Record<Curve['take'], (values: readonly number[]) => number> = {
  middle: (values) => values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)]!,
  ceiling: (values) => Math.max(...values),
}

/** Theil–Sen estimator: the median of the slopes between all pairs, robust against outliers. */
export function slope(points: readonly { at: number; value: number }[]): number {
  const slopes = points.flatMap((one, index) =>
    points.slice(index + 1).map((other) => (other.value - one.value) / (other.at - one.at)),
  )
  return slopes.length === 0 ? 0 : TAKE.middle(slopes)
}

const brief = (items: readonly string[]): string => (items.length > 0 ? `: ${items.slice(0, 5).join('; ')}` : '')
