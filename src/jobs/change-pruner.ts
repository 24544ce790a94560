import { CHANGES_KEPT_MS } from '../core/change.ts'
import type { JobDeps, RunningJob } from './job.ts'
import { newSingleFlight } from './single-flight.ts'

const TICK_MS = 3_600_000

/** Removes old changes once an hour. */
export function startChangePruner({ context: { deps } }: JobDeps): RunningJob {
  const { store, clock, report } = deps
  const flight = newSingleFlight(report)
  const stopTicking = clock.every(TICK_MS, () =>
    flight.run('pruning the feed of changes', () => store.changes.prune(clock.now(), CHANGES_KEPT_MS)),
  )
  return {
    async stop() {
      stopTicking()
      await flight.stop()
    },
  }
}
