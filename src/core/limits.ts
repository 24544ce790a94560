/** What one process accepts while nothing is configured. 0 means no limit where that is possible. */
export const DEFAULT_LIMITS = {
  bodyBytes: 10_485_760,
  jsonDepth: 64,
  connections: 10_000,
  headersMs: 20_000,
  /** For a whole request to arrive. Answers have no such limit. */
  requestMs: 60_000,
  /** Requests without a valid key, by address. */
  refusalsPerMinute: 120,
  /** From here on for each key made with `holdfast keys create`. The home's own key has only the limits above. */
  requestsPerSecond: 100,
  openRequestsPerKey: 1_000,
  turnsPerKey: 32,
  turnsPerAgent: 32,
}

export type Limits = typeof DEFAULT_LIMITS
