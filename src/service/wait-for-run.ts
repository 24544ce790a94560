import type { RunId } from '../core/id.ts'
import { Problem } from '../core/problem.ts'
import type { Run } from '../core/run.ts'
import { isOver } from '../engine/engine.ts'
import type { Desk } from './desk.ts'

/** Resolves with the run once it is settled or waits for a person; with the run as it is if the signal aborts. */
export async function waitForRun(runId: RunId, desk: Desk, signal?: AbortSignal): Promise<Run> {
  const { engine, world, organizationId } = desk
  for (;;) {
    const over = new AbortController()
    // Subscribe before reading: an ending in between must not be missed.
    const either = signal ? AbortSignal.any([signal, over.signal]) : over.signal
    const next = engine ? engine.endings.next(runId, either) : world.clock.sleep(100, either)
    if (engine?.dispatcher.isRunning(runId) && !signal?.aborted) {
      // Its ending will be announced here; reading it before would tell nothing.
      await next
      continue
    }
    const run = await world.store.runs.get(organizationId, runId)
    if (!run) throw new Problem('not-found', `There is no run "${runId}".`)
    if (isOver(run) || signal?.aborted) {
      over.abort('over')
      return run
    }
    await next
  }
}
