import { setTimeout as sleep } from 'node:timers/promises'
import { defined } from '../../../src/core/defined.ts'
import { DEFAULT_ORGANIZATION } from '../../../src/core/id.ts'
import type { Run } from '../../../src/core/run.ts'
import { StorageError } from '../../../src/ports/storage-error.ts'
import type { Store } from '../../../src/ports/store.ts'

/** How many runs the former life left in the middle, and how long after the start of this process all went on. */
export type Moved = {
  runs: number
  ms: number
  /** When the engine began, for whoever wants to know what the start of the process itself took. */
  openedMs: number
  /** The run that moved last, and how often it had lost its process before. */
  slowest?: { id: string; deaths: number }
}

const POLL_MS = 5

/**
 * Measures recovery from inside. A run moves again when its log has an event the former life did not write and that is
 * more than the note of its death.
 */
export function watchRecovery(): { watch(store: Store): Store; moving(): Promise<Moved> } {
  const found = Promise.withResolvers<{ store: Store; interrupted: Run[]; openedMs: number }>()
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
            found.resolve({ store, interrupted, openedMs: performance.now() })
          }
          return store.workers.beat(workerId, leaseMs)
        },
      },
    }),
    async moving() {
      const { store, interrupted, openedMs } = await found.promise
      let still = interrupted
      let last: Run | undefined
      while (still.length > 0) {
        last = still[0]
        still = await stillIn(store, still)
        if (still.length > 0) await sleep(POLL_MS)
      }
      // performance.now() counts from the start of the process.
      const ms = performance.now()
      const slowest = last && { id: last.id, deaths: last.deaths }
      return { runs: interrupted.length, ms, openedMs, ...defined({ slowest }) }
    },
  }
}

async function stillIn(store: Store, runs: Run[]): Promise<Run[]> {
  try {
    const now = await Promise.all(runs.map((run) => store.runs.getAnywhere(run.id)))
    return runs.filter((before, index) => isStill(before, now[index]))
  } catch (problem) {
    // Nobody can say while the store is away.
    if (!(problem instanceof StorageError)) throw problem
    return runs
  }
}

function isStill(before: Run, now: Run | undefined): boolean {
  if (now?.status !== 'running') return false
  const notes = now.deaths > before.deaths ? 1 : 0
  return now.nextSeq <= before.nextSeq + notes
}
