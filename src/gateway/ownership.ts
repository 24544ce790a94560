import type { Clock } from '../ports/clock.ts'

/**
 * Whether this process may act for its account. One that was paused may have lost the account without noticing: another
 * process has sent since then, and a late call of this one would repeat that or write over it.
 */
export type Ownership = {
  /** False until it is proven again. Asked directly before a call. */
  isFresh(): boolean
  /** Called about every second: a gap between two calls is a pause. */
  tick(): void
}

/** Well below the lease of a process less the time between two heartbeats. */
const LONGEST_GAP_MS = 5_000

type OwnershipOptions = {
  clock: Pick<Clock, 'monotonic'>
  /** Whether the account still belongs to this process. */
  verify(): Promise<boolean>
  lost(): void
  failed(fault: unknown): void
}

export function newOwnership({ clock, verify, lost, failed }: OwnershipOptions): Ownership {
  let seenAt = clock.monotonic()
  let verifying: Promise<void> | undefined

  function isFresh(): boolean {
    if (!verifying && clock.monotonic() - seenAt < LONGEST_GAP_MS) return true
    verifying ??= prove().finally(() => {
      verifying = undefined
    })
    return false
  }

  async function prove(): Promise<void> {
    const askedAt = clock.monotonic()
    try {
      if (await verify()) seenAt = askedAt
      else lost()
    } catch (fault) {
      failed(fault)
    }
  }

  return {
    isFresh,
    tick() {
      if (isFresh()) seenAt = clock.monotonic()
    },
  }
}
