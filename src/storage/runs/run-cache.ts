import type { RunId } from '../../core/id.ts'
import type { ChangedRun } from '../rows/run-row.ts'

export type RunCache = {
  get(id: RunId): ChangedRun | undefined
  keep(run: ChangedRun): void
  forget(id: RunId): void
}

/** Far more than run concurrently in one process. */
const MAX_RUNS = 1_000

/**
 * Caches the constant columns of runs that are written to, so that commits need no `returning`, which costs more on
 * SQLite than the write itself (measured: 10 µs against 4).
 */
export function newRunCache(): RunCache {
  const runs = new Map<RunId, ChangedRun>()
  return {
    get: (id) => runs.get(id),
    keep(run) {
      const [oldest] = runs.size < MAX_RUNS ? [] : runs.keys()
      if (oldest) runs.delete(oldest)
      runs.set(run.id, run)
    },
    forget: (id) => void runs.delete(id),
  }
}
