/** Milliseconds. An explicit setting wins; the defaults of the last two grow with the request. */
export type Deadlines = {
  connectMs?: number
  /** From sending the request to the first byte of the answer. */
  firstByteMs?: number
  /** Between two bytes of the answer. */
  stallMs?: number
}

const CONNECT_MS = 10_000
const FIRST_BYTE_MS = 120_000
const STALL_MS = 60_000

/** A stream that sends only keep-alive comments and pings ends after this many stall deadlines. */
export const PINGS_ONLY_FACTOR = 5

const BYTES_PER_TOKEN = 4
/** Providers need longer for long prompts: above `tokens` estimated tokens, deadlines grow by `factor`. */
const SCALES = [
  { tokens: 100_000, factor: 2 },
  { tokens: 50_000, factor: 1.5 },
]

export function deadlinesFor(set: Deadlines, requestBytes: number): Required<Deadlines> {
  const tokens = requestBytes / BYTES_PER_TOKEN
  const factor = SCALES.find((scale) => tokens > scale.tokens)?.factor ?? 1
  return {
    connectMs: set.connectMs ?? CONNECT_MS,
    firstByteMs: set.firstByteMs ?? FIRST_BYTE_MS * factor,
    stallMs: set.stallMs ?? STALL_MS * factor,
  }
}
