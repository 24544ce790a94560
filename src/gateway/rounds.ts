import type { Clock } from '../ports/clock.ts'

type RoundsOptions = {
  /** Starts what can be started now; it is called again after each wake-up. */
  work(): Promise<void>
  /** A round rejected, for example because the store is unavailable. */
  failed(fault: unknown): void
  clock: Clock
  signal: AbortSignal
}

/** Rounds of work, one at a time: a wake-up during a round begins another one after it. */
type Rounds = {
  wake(): void
  wakeIn(ms: number): void
  /** Resolves when the current round is over. */
  ended(): Promise<void>
}

export function newRounds({ work, failed, clock, signal }: RoundsOptions): Rounds {
  let current: Promise<void> | undefined
  let isWoken = false
  let alarmAt = Number.POSITIVE_INFINITY

  function wake(): void {
    isWoken = true
    if (current || signal.aborted) return
    current = run().finally(() => {
      current = undefined
      if (isWoken) wake()
    })
  }

  async function run(): Promise<void> {
    while (isWoken && !signal.aborted) {
      isWoken = false
      await work().catch(failed)
    }
  }

  return {
    wake,
    // The earliest alarm is enough: its round asks for the next one.
    wakeIn(ms) {
      const at = clock.monotonic() + ms
      if (at >= alarmAt) return
      alarmAt = at
      void clock.sleep(ms, signal).then(() => {
        if (alarmAt === at) alarmAt = Number.POSITIVE_INFINITY
        wake()
      })
    },
    ended: async () => current,
  }
}
