import type { JobDeps, RunningJob } from './job.ts'
import { newSingleFlight } from './single-flight.ts'

/** The first prune waits this long, so that clients that reconnect after a restart are served first. */
const TICK_MS = 30_000
const TICKS_BETWEEN_PRUNES = 120

/** Removes the chunks of streams whose retention time has passed, once an hour. */
export function startStreamPruner({ context: { deps } }: JobDeps): RunningJob {
  const flight = newSingleFlight(deps.report)
  let ticks = 0
  const stopTicking = deps.clock.every(TICK_MS, () => {
    if (ticks % TICKS_BETWEEN_PRUNES === 0) flight.run('pruning streams', prune)
    ticks += 1
  })

  async function prune(): Promise<void> {
    await deps.streams.prune()
  }

  return {
    async stop() {
      stopTicking()
      await flight.stop()
    },
  }
}
