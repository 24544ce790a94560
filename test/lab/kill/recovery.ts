import { setTimeout as sleep } from 'node:timers/promises'
import { defined } from '../../../src/core/defined.ts'
import { DEFAULT_ORGANIZATION } from '../../../src/core/id.ts'
import type { Run } from '../../../src/core/run.ts'
import { StorageError } from '../../../src/ports/storage-error.ts'
import type { Store } from '../../../src/ports/store.ts'

/** How many runs the previous process left unfinished, and the time until all of them continued. */
export type Moved = {
  runs: number
  ms: number
  /** When the engine started: the difference is the start of the process itself. */
  openedMs: number
  /** The run that continued last, with its earlier deaths. */
  slowest?: { id: string; deaths: number }
}

const POLL_MS = 5

/**
 * Measures recovery from inside. A run continues when its log has an event of this process other than the record of the
 * death.
 */
export function watchRecovery(): { watch(store: Store): Store; moving(): Promise<Moved> } {
  const found = Promise.withResolvers<{ store: Store; interrupted: Run[]; openedMs: number }>()
  let isFirst = true
  return {
    watch: (store) => ({
      ...store,
      workers: {
        ...store.workers,
        // The first call of an engine, before it takes over any run.
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
    // Unknown while the store is unavailable.
    if (!(problem instanceof StorageError)) throw problem
    return runs
  }
}

function isStill(before: Run, now: Run | undefined): boolean {
  if (now?.status !== 'running') return false
  const notes = now.deaths > before.deaths ? 1 : 0
  return now.nextSeq <= before.nextSeq + notes
}
