import type { RunId } from '../core/id.ts'
import type { ChunkStore } from '../ports/chunk-store.ts'
import type { Clock } from '../ports/clock.ts'
import { StorageError } from '../ports/storage-error.ts'
import type { FanOut } from './fan-out.ts'

const TICK_MS = 100
/** In ticks. A stream another process writes is looked at often while it moves, one of ours only to be sure. */
const SOON = 1
const QUIET = 4
const OURS = 20

export type Lookout = {
  /** Somebody watches: there is something to look for. */
  begin(): void
  /** This process wrote the stream, and its readers have it. */
  wroteHere(runId: RunId): void
}

type Plan = { wait: number; due: number; last: number }

/** Looks for what other processes wrote, once for all who watch a run: thousands of idle watchers cost next to nothing. */
export function newLookout(parts: {
  fanOut: FanOut
  chunks: Pick<ChunkStore, 'head'>
  clock: Clock
  report(fault: unknown, where: string): void
}): Lookout {
  const { fanOut, chunks, clock, report } = parts
  const plans = new Map<RunId, Plan>()
  let tick = 0
  let stop: (() => void) | undefined
  let isLooking = false

  async function look(): Promise<void> {
    tick++
    for (const runId of plans.keys()) if (!fanOut.isWatched(runId)) plans.delete(runId)
    for (const runId of [...fanOut.watched()]) {
      const plan = plans.get(runId) ?? { wait: SOON, due: tick, last: 0 }
      plans.set(runId, plan)
      if (plan.due > tick) continue
      // A stream that is not there may have been lost with its database: whoever reads it finds out.
      const last = (await chunks.head(runId))?.last ?? Number.POSITIVE_INFINITY
      if (last === plan.last) plan.wait = plan.wait === OURS ? OURS : Math.min(plan.wait * 2, QUIET)
      else if (plan.wait !== OURS) plan.wait = SOON
      plan.last = last
      plan.due = tick + plan.wait
      if (fanOut.tell(runId, last) && plan.wait === OURS) plan.wait = SOON
    }
    if (fanOut.isWatched() || !stop) return
    stop()
    stop = undefined
  }

  function lookOnce(): void {
    if (isLooking) return
    isLooking = true
    look()
      .catch((fault) => {
        if (!(fault instanceof StorageError) || !fault.mayPass) report(fault, 'looking for chunks of others')
      })
      .finally(() => {
        isLooking = false
      })
  }

  return {
    begin() {
      stop ??= clock.every(TICK_MS, lookOnce)
    },
    wroteHere(runId) {
      const plan = plans.get(runId)
      if (plan) plan.wait = OURS
    },
  }
}
