/** A metric with its values, as the registry of `/metrics` has it. */
export type MetricFamily = {
  name: string
  help: string
  type: string
  /** `metricName`: which part of a histogram it is. */
  values: { value: number; labels: Readonly<Record<string, string | number | undefined>>; metricName?: string }[]
}

/**
 * Why telemetry was dropped. `queue-full`: runs end faster than they are exported. `unavailable`: the collector did not
 * take it, after all retries. `refused`: it answered that it never will. `unreadable`: the store could not be read.
 */
export type DropReason = 'queue-full' | 'unavailable' | 'refused' | 'unreadable' | 'shutdown'

export type DroppedTelemetry = { what: 'runs' | 'spans' | 'metrics'; why: DropReason; count: number }

/** The export to a collector (OpenTelemetry). Nothing waits for it. */
export type Telemetry = {
  state(): { exportedSpans: number; waitingRuns: number; dropped: readonly DroppedTelemetry[] }
  /** Pushes these metrics at an interval, until the returned function is called. */
  pushMetrics(read: () => Promise<readonly MetricFamily[]>): () => void
}

export type RunningTelemetry = Telemetry & {
  /** Sends what waits, for two seconds at most, and uses the store no more. */
  stop(): Promise<void>
}
