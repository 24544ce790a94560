/** The figures and their upper limits; decisions/ has the reasons. */
export const BUDGETS = {
  cpu_ratio_c1: undefined,
  cpu_ratio_c64_relaxed: 2,
  cpu_ratio_c64_strict: 2.5,
  bytes_growth: 1.3,
  us_per_history_message: 5,
  idle_kb: 0.5,
  resume_ratio: 1.5,
  client_cpu_ratio: 2,
  abort_p99_ms: 50,
  stall_error: 0.1,
  warm_request_ratio: 1.3,
  warm_turn_ratio: 0.7,
  cache_heap_growth: 1.05,
  cache_resident_growth: 1.05,
  eviction_delay_ms: 5,
  shell_ratio: 2,
  python_first_ms: 150,
  python_later_ms: 30,
  gateway_intake_ms: 5,
  chunk_delay_ratio: 1.25,
  chunk_delay_strict: undefined,
  chunk_delay_p99: 2,
  read_ratio: 1 / 0.6,
  watcher_kb: 30,
  served_turn_ratio: 2.5,
  ready_ms: 1_000,
  loop_delay_p99_ms: undefined,
} as const satisfies Record<string, number | undefined>

export type FigureName = keyof typeof BUDGETS

/** `detail` has the measurements behind the figure, in the units of the two sides. */
export type Figure = { name: FigureName; value: number; detail: string }

export function toTable(figures: readonly Figure[]): string {
  const rows = figures.map(({ name, value, detail }) => {
    const budget = BUDGETS[name]
    const verdict = budget === undefined ? '' : value <= budget ? 'ok' : 'over'
    return [name, show(value), budget === undefined ? '' : `<= ${Number(budget.toFixed(2))}`, verdict, detail]
  })
  const lines = [['figure', 'value', 'budget', '', 'from'], ...rows]
  const widths = [0, 1, 2, 3].map((column) => Math.max(...lines.map((line) => line[column]!.length)))
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

export const toJsonLine = (figures: readonly Figure[]): string =>
  JSON.stringify(Object.fromEntries(figures.map(({ name, value }) => [name, round(value)])))

export const round = (value: number): number => Math.round(value * 1_000) / 1_000

export const show = (value: number): string => value.toFixed(Math.abs(value) < 100 ? 2 : 0)

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((one, other) => one - other)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}
