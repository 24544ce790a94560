/** What one process takes upon itself. 0 means no limit where that is possible. */
export type Limits = {
  bodyBytes: number
  jsonDepth: number
  connections: number
  headersMs: number
  /** For the whole of a request to arrive; answers may take as long as they take. */
  requestMs: number
  /** Requests without a valid key, by address. */
  refusalsPerMinute: number
  /** From here on those of each key that was made here. The home's own key has no limits but the ones above. */
  requestsPerSecond: number
  openRequestsPerKey: number
  turnsPerKey: number
  turnsPerAgent: number
}

type LimitRule = { usual: number; from: number; to: number; says: string }

/** `usual` is what holds when nothing is configured. */
export const LIMITS: Record<keyof Limits, LimitRule> = {
  bodyBytes: { usual: 10_485_760, from: 1_024, to: 1_073_741_824, says: 'bytes in the body of a request' },
  jsonDepth: { usual: 64, from: 4, to: 1_000, says: 'levels of nesting in a JSON body' },
  connections: { usual: 10_000, from: 1, to: 1_000_000, says: 'connections at once' },
  headersMs: { usual: 20_000, from: 100, to: 600_000, says: 'milliseconds for the headers of a request to arrive' },
  requestMs: { usual: 60_000, from: 100, to: 3_600_000, says: 'milliseconds for a whole request to arrive' },
  refusalsPerMinute: { usual: 120, from: 1, to: 1_000_000, says: 'requests without a valid key from one address' },
  requestsPerSecond: { usual: 100, from: 0, to: 1_000_000, says: 'requests of a key, on average; 0 for any number' },
  openRequestsPerKey: {
    usual: 1_000,
    from: 0,
    to: 1_000_000,
    says: 'requests and streams a key holds open; 0 for any',
  },
  turnsPerKey: { usual: 32, from: 0, to: 10_000, says: 'running turns a key may have started; 0 for any number' },
  turnsPerAgent: { usual: 32, from: 0, to: 10_000, says: 'running turns of an agent, for keys; 0 for any number' },
}

export const USUAL_LIMITS = Object.fromEntries(
  Object.entries(LIMITS).map(([name, { usual }]) => [name, usual]),
) as Limits
