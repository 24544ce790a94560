import { DAY_MS } from '../core/duration.ts'
import { settleSchedules } from '../service/schedules/settle-schedules.ts'
import type { JobDeps, RunningJob } from './job.ts'
import { newSingleFlight } from './single-flight.ts'

const TICK_MS = 1_000
/** How often the job looks for schedules that were created since, here or by another process. */
const SWEEP_MS = 5_000
/** How long the history of schedules is kept. */
const KEPT_MS = 90 * DAY_MS
const PRUNE_EVERY_MS = 600_000
const PRUNED_AT_ONCE = 1_000

/** Fires schedules and settles the instants that did not fire. Every server of a database may run it. */
export function startScheduleRunner({ context }: Pick<JobDeps, 'context'>): RunningJob {
  const { store, clock, report } = context.deps
  const flight = newSingleFlight(report)
  const pruning = newSingleFlight(report)
  const stopping = new AbortController()
  let nextDue: number | undefined
  let sweepAt = clock.monotonic()
  let pruneAt = clock.monotonic() + PRUNE_EVERY_MS

  /** The wall clock may jump, so the sweeps follow the monotonic one. */
  const isTime = (): boolean => clock.monotonic() >= sweepAt || (nextDue !== undefined && clock.now() >= nextDue)

  async function settleAll(): Promise<void> {
    sweepAt = clock.monotonic() + SWEEP_MS
    nextDue = undefined
    // A long absence takes several passes.
    while (!stopping.signal.aborted && (await settleSchedules(context, stopping.signal)) > 0) {}
    nextDue = await store.schedules.nextDue()
    // What is still due failed, and is tried again by the next sweep.
    if (nextDue !== undefined && nextDue <= clock.now()) nextDue = undefined
  }

  async function prune(): Promise<void> {
    const before = clock.now() - KEPT_MS
    while (!stopping.signal.aborted && (await store.schedules.prune(before, PRUNED_AT_ONCE)) === PRUNED_AT_ONCE) {}
  }

  const stopTicking = clock.every(TICK_MS, () => {
    if (isTime()) flight.run('firing schedules', settleAll)
    if (clock.monotonic() < pruneAt) return
    pruneAt = clock.monotonic() + PRUNE_EVERY_MS
    pruning.run('pruning the history of schedules', prune)
  })

  return {
    async stop() {
      stopping.abort()
      stopTicking()
      await flight.stop()
      await pruning.stop()
    },
  }
}
