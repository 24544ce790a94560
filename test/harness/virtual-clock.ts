import type { Clock } from '../../src/ports/clock.ts'

export type VirtualClock = Clock & {
  /** Advances time by `ms` and wakes sleepers in order, each at its time. */
  advance(ms: number): Promise<void>
  /** Advances time until `work` settles, by `longestMs` at most. */
  advanceUntil<T>(work: Promise<T>, longestMs?: number): Promise<T>
  /** Runs everything that can run without advancing time. */
  settle(): Promise<void>
}

type Sleeper = { at: number; order: number; wake(): void }

/** Time that passes only when a test advances it. Everything else (files, promises) is real. */
export function newVirtualClock(start = Date.UTC(2026, 0, 1)): VirtualClock {
  let now = start
  let order = 0
  const sleepers = new Set<Sleeper>()

  const sleep = (ms: number, signal?: AbortSignal) =>
    new Promise<void>((resolve) => {
      if (ms <= 0 || signal?.aborted) return resolve()
      const sleeper: Sleeper = { at: now + ms, order: order++, wake: done }
      function done() {
        sleepers.delete(sleeper)
        signal?.removeEventListener('abort', done)
        resolve()
      }
      sleepers.add(sleeper)
      signal?.addEventListener('abort', done)
    })

  const settle = async () => {
    for (let round = 0; round < 20; round++) await new Promise((resolve) => setImmediate(resolve))
  }

  /** Wakes the next sleeper up to the time `end`; false if there is none. */
  const wakeNext = async (end: number): Promise<boolean> => {
    const [next] = [...sleepers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at || a.order - b.order)
    if (!next) return false
    now = next.at
    next.wake()
    await settle()
    return true
  }

  return {
    now: () => now,
    monotonic: () => now - start,
    sleep,
    every(ms, task) {
      const over = new AbortController()
      const loop = async () => {
        while (!over.signal.aborted) {
          await sleep(ms, over.signal)
          if (!over.signal.aborted) task()
        }
      }
      void loop()
      return () => over.abort()
    },
    soon: (task) => void setImmediate(task),
    settle,
    async advance(ms) {
      const end = now + ms
      await settle()
      while (await wakeNext(end)) {}
      now = end
    },
    async advanceUntil(work, longestMs = 120_000) {
      const end = now + longestMs
      let isOver = false
      const over = () => {
        isOver = true
      }
      work.then(over, over)
      await settle()
      while (!isOver && (await wakeNext(end))) {}
      return work
    },
  }
}
