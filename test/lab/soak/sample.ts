/** A sample of the server process, with the file sizes that its parent measures. */
export type Sample = {
  /** Seconds since the soak began. */
  at: number
  rss: number
  heap: number
  /** Heap after the last full collection. */
  heapAfterGc: number
  /** Memory of buffers, outside the heap. */
  external: number
  files: number
  database: number
  log: number
  chunks: number
  sendP50: number
  sendP99: number
  turnP50: number
  turnP99: number
  loopP99: number
  loopMax: number
  running: number
  /** Whole turns that ended since the last sample, per second. */
  turnsPerSecond: number
}

/** Counted over the whole soak. */
export type Totals = {
  conversations: number
  sent: number
  steered: number
  refused: number
  cancelled: number
  answered: number
  watched: number
  /** Watchers that reconnected. */
  returned: number
  endings: Record<string, number>
}

export type Check = { at: number; seconds: number; runs: number; messages: number; violations: string[] }

export const percentile = (values: readonly number[], share: number): number => {
  if (values.length === 0) return 0
  const sorted = values.toSorted((one, other) => one - other)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!
}
