import type { RunId } from '../core/id.ts'
import type { Desk } from './desk.ts'

/** The response was sent to its end. If this is not kept, a retry attaches to the run once more, which does no harm. */
export async function markAnswered(runId: RunId, { world }: Desk): Promise<void> {
  try {
    await world.store.runs.markAnswered(runId)
  } catch (fault) {
    world.report(fault, `noting that the request of ${runId} was answered`)
  }
}
