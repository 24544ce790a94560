import type { RunId } from '../core/id.ts'
import type { ChunkStore } from '../ports/chunk-store.ts'
import type { Clock } from '../ports/clock.ts'
import { StorageError } from '../ports/storage-error.ts'
import type { FanOut } from './fan-out.ts'

const TICK_MS = 100
/** Poll interval of a stream that grows, in ticks. */
const MOVING_TICKS = 1
/** The longest interval of a stream that does not grow. */
const QUIET_TICKS = 4
/** The interval of a stream that this process writes. */
const LOCAL_TICKS = 20

export type StreamPoller = {
  /** Starts polling; it stops by itself when no stream has subscribers. */
  start(): void
  /** This process writes the stream and publishes its chunks, so it is polled rarely. */
  markLocal(runId: RunId): void
}

/** `wait` and `due` are in ticks, `last` is the last chunk number. */
type PollPlan = { wait: number; due: number; last: number }

/** Polls for chunks of other processes, once per run for all its subscribers. */
export function newStreamPoller(options: {
  fanOut: FanOut
  chunks: Pick<ChunkStore, 'head'>
  clock: Clock
  report(fault: unknown, where: string): void
}): StreamPoller {
  const { fanOut, chunks, clock, report } = options
  const plans = new Map<RunId, PollPlan>()
  let tick = 0
  let stop: (() => void) | undefined
  let isPolling = false

  async function poll(): Promise<void> {
    tick++
    for (const runId of plans.keys()) if (!fanOut.isWatched(runId)) plans.delete(runId)
    for (const runId of [...fanOut.watched()]) {
      const plan = plans.get(runId) ?? { wait: MOVING_TICKS, due: tick, last: 0 }
      plans.set(runId, plan)
      if (plan.due > tick) continue
      // A missing stream may have been lost with its database; subscribers detect that when they read.
      const last = (await chunks.head(runId))?.last ?? Number.POSITIVE_INFINITY
      if (last === plan.last) plan.wait = plan.wait === LOCAL_TICKS ? LOCAL_TICKS : Math.min(plan.wait * 2, QUIET_TICKS)
      else if (plan.wait !== LOCAL_TICKS) plan.wait = MOVING_TICKS
      plan.last = last
      plan.due = tick + plan.wait
      if (fanOut.noteHead(runId, last) && plan.wait === LOCAL_TICKS) plan.wait = MOVING_TICKS
    }
    if (fanOut.isWatched() || !stop) return
    stop()
    stop = undefined
  }

  function pollOnce(): void {
    if (isPolling) return
    isPolling = true
    poll()
      .catch((fault) => {
        if (!(fault instanceof StorageError) || !fault.isTransient) report(fault, 'polling streams of other processes')
      })
      .finally(() => {
        isPolling = false
      })
  }

  return {
    start() {
      stop ??= clock.every(TICK_MS, pollOnce)
    },
    markLocal(runId) {
      const plan = plans.get(runId)
      if (plan) plan.wait = LOCAL_TICKS
    },
  }
}
