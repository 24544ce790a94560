import type { RunId } from '../../core/id.ts'
import type { ChangedRun } from '../rows/run-row.ts'

export type RunCache = {
  get(id: RunId): ChangedRun | undefined
  keep(run: ChangedRun): void
  forget(id: RunId): void
}

/** Far more than run at once in one process. */
const MAX_RUNS = 1_000

/**
 * What never changes of the runs that are written to, so that a commit need not ask for it: in SQLite a `returning` costs
 * more than the write it belongs to (measured: 10 µs against 4).
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
