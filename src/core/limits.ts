/** Default limits of one process. 0 means no limit where that is possible. */
export const DEFAULT_LIMITS = {
  bodyBytes: 10_485_760,
  jsonDepth: 64,
  /** Values in the lists and objects of a JSON body. */
  jsonValues: 500_000,
  connections: 10_000,
  headersMs: 20_000,
  /** Time for a whole request to arrive. */
  requestMs: 60_000,
  /** How long the reader of an answer may take nothing. */
  stalledAnswerMs: 30_000,
  /** Bytes of requests and unread answers in memory. An organization may have half of them. */
  bytesInFlight: 134_217_728,
  /** Requests without a valid key, for each client address. */
  refusalsPerMinute: 120,
  /** The limits below apply to each key made with `holdfast keys create`; the home's own key has only those above. */
  requestsPerSecond: 100,
  bytesInFlightPerKey: 33_554_432,
  openRequestsPerKey: 1_000,
  turnsPerKey: 32,
  turnsPerAgent: 32,
  queuedTurnsPerKey: 256,
  streamsPerKey: 500,
  /** 0 until an operator sets one. */
  dollarsPerDayPerKey: 0,
  /** The limits below apply to each organization but the one the home began with, unless they are set for it. */
  turnsPerOrganization: 32,
  queuedTurnsPerOrganization: 1_000,
  requestsPerSecondPerOrganization: 400,
  openRequestsPerOrganization: 2_000,
  streamsPerOrganization: 1_000,
  workspacesPerOrganization: 1_000,
  awakeWorkspacesPerOrganization: 16,
  processesPerOrganization: 2_048,
  schedulesPerOrganization: 1_000,
  storedBytesPerOrganization: 21_474_836_480,
  dollarsPerDayPerOrganization: 0,
  /** Of models whose price is unknown. */
  tokensPerDayPerOrganization: 0,
}

export type Limits = typeof DEFAULT_LIMITS
