import { realClock } from '../../src/config/real-clock.ts'
import type { Clock } from '../../src/ports/clock.ts'

/** Retry waits of the engine are longer; polls and flushes are shorter and take real time. */
const SHORTEST_JUMP_MS = 400

export type JumpingClock = Clock & {
  /** Moves the clock forward; waits that have begun are not shortened. */
  skip(ms: number): void
}

/** Real time, except that waits from 400 ms up to `longestMs` end at once and move the clock forward. */
export function newJumpingClock(longestMs = 60_000): JumpingClock {
  let skipped = 0
  return {
    ...realClock,
    now: () => realClock.now() + skipped,
    skip: (ms) => {
      skipped += ms
    },
    async sleep(ms, signal) {
      if (ms < SHORTEST_JUMP_MS || ms > longestMs) return realClock.sleep(ms, signal)
      const until = realClock.now() + skipped + ms
      await new Promise((resolve) => setImmediate(resolve))
      if (!signal?.aborted) skipped = Math.max(skipped, until - realClock.now())
    },
  }
}
