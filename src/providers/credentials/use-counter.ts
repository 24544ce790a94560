import type { CredentialId } from '../../core/credential.ts'
import type { Clock } from '../../ports/clock.ts'
import type { CredentialStore } from '../../ports/credential-store.ts'

const FLUSH_INTERVAL_MS = 5_000

type UseCounter = {
  count(id: CredentialId, at: number): void
  /** The uses that are not written to the row yet. */
  uncommitted(id: CredentialId): number
  flush(): Promise<void>
}

type UseCounterDeps = {
  countUses: CredentialStore['countUses']
  isStored(id: CredentialId): boolean
  clock: Pick<Clock, 'monotonic'>
  report(fault: unknown, where: string): void
}

/** Batches uses into one write every few seconds: a commit per attempt costs more than the count is worth. */
export function newUseCounter({ countUses, isStored, clock, report }: UseCounterDeps): UseCounter {
  const pending = new Map<CredentialId, { uses: number; at: number }>()
  let flushedAt = Number.NEGATIVE_INFINITY
  let flushing: Promise<void> | undefined

  async function write(): Promise<void> {
    const uses = [...pending].filter(([id]) => isStored(id)).map(([id, { uses, at }]) => ({ id, uses, at }))
    if (uses.length === 0) return
    try {
      await countUses(uses)
      for (const { id, uses: written } of uses) settle(id, written)
    } catch (error) {
      // The counts stay pending and are written with the next batch.
      report(error, 'writing the use counts of credentials')
    }
  }

  function settle(id: CredentialId, written: number): void {
    const entry = pending.get(id)
    if (entry && entry.uses > written) entry.uses -= written
    else pending.delete(id)
  }

  function flush(): Promise<void> {
    flushedAt = clock.monotonic()
    flushing ??= write().finally(() => {
      flushing = undefined
    })
    return flushing
  }

  return {
    count(id, at) {
      const entry = pending.get(id)
      pending.set(id, { uses: (entry?.uses ?? 0) + 1, at })
      if (clock.monotonic() - flushedAt >= FLUSH_INTERVAL_MS) void flush()
    },
    uncommitted: (id) => pending.get(id)?.uses ?? 0,
    flush,
  }
}
