import { eraseUnknown, finishErasures } from '../service/agents/erase-remains.ts'
import type { JobDeps, RunningJob } from './job.ts'
import { newSingleFlight } from './single-flight.ts'

const TICK_MS = 5_000
/** Once an hour, the first time after half a minute. */
const TICKS_BETWEEN_SWEEPS = 720
const TICKS_BEFORE_FIRST_SWEEP = 6

/** Completes deletions: words in indexes, free pages, and what a crash has left of streams and files. */
export function startEraser({ context }: JobDeps): RunningJob {
  const { clock, report } = context.deps
  const flight = newSingleFlight(report)
  const stopping = new AbortController()
  let ticks = -TICKS_BEFORE_FIRST_SWEEP
  const stopTicking = clock.every(TICK_MS, () => {
    flight.run('completing deletions', () => finishErasures(context, stopping.signal))
    if (ticks % TICKS_BETWEEN_SWEEPS === 0) flight.run('erasing what deletions have left', () => eraseUnknown(context))
    ticks += 1
  })

  return {
    async stop() {
      stopping.abort()
      stopTicking()
      await flight.stop()
    },
  }
}
