import type { RunId } from '../../core/id.ts'
import { Problem } from '../../core/problem.ts'
import { isSettled, type Run } from '../../core/run.ts'
import type { RunFilter } from '../../ports/store.ts'
import { cancelRun, listRuns } from '../../service/runs/runs.ts'
import { waitForRun } from '../../service/runs/watch-run.ts'
import type { ServiceContext } from '../../service/service-context.ts'

/** A cancelled run ends within this time, unless a tool is slow to stop. */
export const CANCEL_WAIT_MS = 8_000

/** Runs that are running, queued or waiting for approval. */
export async function activeRuns(
  where: Pick<RunFilter, 'agentId' | 'conversationId'>,
  context: ServiceContext,
): Promise<RunId[]> {
  const going = await listRuns({ ...where, statuses: ['created', 'running'] }, 100, context)
  const waiting = await listRuns({ ...where, waiting: true }, 100, context)
  return [...going, ...waiting].map(({ id }) => id)
}

/** Cancels a run and waits for its end, so that the answer has its final status. */
export async function cancelAndWait(runId: RunId, context: ServiceContext): Promise<Run> {
  const run = await cancelRun(runId, context)
  return isSettled(run) ? run : waitForRun(runId, context, AbortSignal.timeout(CANCEL_WAIT_MS))
}

/** Cancels these runs. Each is `cancelled`, also while it is still stopping, or `failed` if it had ended before. */
export async function cancelAll(
  runIds: readonly RunId[],
  context: ServiceContext,
): Promise<Record<string, 'cancelled' | 'failed'>> {
  if (runIds.length === 0) throw new Problem('conflict', 'There are no active runs to cancel.')
  const outcomes = runIds.map(async (id) => {
    const { status } = await cancelAndWait(id, context)
    return [id, status === 'completed' || status === 'failed' ? 'failed' : 'cancelled'] as const
  })
  return Object.fromEntries(await Promise.all(outcomes))
}
