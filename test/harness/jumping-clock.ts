import { realClock } from '../../src/config/real-clock.ts'
import type { Clock } from '../../src/ports/clock.ts'

/** The shortest wait of the ladder is longer; polls and flushes are shorter and stay real. */
const SHORTEST_JUMP_MS = 400

export type JumpingClock = Clock & {
  /** Lets time pass for whoever looks at the clock. */
  skip(ms: number): void
}

/** Real time, but waits from half a second up to `longestMs` are over at once: the clock says they have passed. */
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
