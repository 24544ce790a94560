import { setTimeout as sleep } from 'node:timers/promises'
import { DEFAULT_ORGANIZATION } from '../../../src/core/id.ts'
import type { Run } from '../../../src/core/run.ts'
import type { Store } from '../../../src/ports/store.ts'

/** How many runs the former life left in the middle, and how long after the start of this process all went on. */
export type Moved = { runs: number; ms: number }

const POLL_MS = 5

/**
 * Measures recovery from inside. A run moves again when its log has an event the former life did not write and that is
 * more than the note of its death.
 */
export function watchRecovery(): { watch(store: Store): Store; moving(): Promise<Moved> } {
  const found = Promise.withResolvers<{ store: Store; interrupted: Run[] }>()
  let isFirst = true
  return {
    watch: (store) => ({
      ...store,
      workers: {
        ...store.workers,
        // The first thing an engine does, before it takes anything over.
        async beat(workerId, leaseMs) {
          if (isFirst) {
            isFirst = false
            const interrupted = await store.runs.list(DEFAULT_ORGANIZATION, { statuses: ['running'] }, { limit: 1_000 })
            found.resolve({ store, interrupted })
          }
          return store.workers.beat(workerId, leaseMs)
        },
      },
    }),
    async moving() {
      const { store, interrupted } = await found.promise
      let still = interrupted
      while (still.length > 0) {
        const now = await Promise.all(still.map((run) => store.runs.getAnywhere(run.id)))
        still = still.filter((before, index) => isStill(before, now[index]))
        if (still.length > 0) await sleep(POLL_MS)
      }
      // performance.now() counts from the start of the process.
      return { runs: interrupted.length, ms: performance.now() }
    },
  }
}

function isStill(before: Run, now: Run | undefined): boolean {
  if (!now || now.status !== 'running') return false
  const notes = now.deaths > before.deaths ? 1 : 0
  return now.nextSeq <= before.nextSeq + notes
}
