import type { Clock } from '../ports/clock.ts'

/** setTimeout fires at once for delays above this. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

export const realClock: Clock = {
  now: Date.now,
  // Counts from the start of the machine, so that processes on one machine can compare their readings.
  monotonic: () => {
    const [seconds, nanoseconds] = process.hrtime()
    return seconds * 1_000 + nanoseconds / 1_000_000
  },
  sleep: async (ms, signal) => {
    for (let left = ms; left > 0 && !signal?.aborted; left -= LONGEST_TIMER_MS)
      await sleepOnce(Math.min(left, LONGEST_TIMER_MS), signal)
  },
  every: (ms, task) => {
    const timer = setInterval(task, ms).unref()
    return () => clearInterval(timer)
  },
  soon: (task) => {
    setImmediate(task)
  },
}

function sleepOnce(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const wake = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', wake)
      resolve()
    }
    const timer = setTimeout(wake, ms)
    signal?.addEventListener('abort', wake)
  })
}
