import type { RunId } from '../core/id.ts'
import { catchUpStream } from './catch-up-stream.ts'
import type { EngineDeps } from './engine-deps.ts'

/**
 * Ends the stream of a finished run whose writer died before it could, so that a subscriber always gets the terminal
 * chunk. Does nothing for a run that is still running: its holder writes the stream.
 */
export async function finishStream(
  runId: RunId,
  { store, streams }: Pick<EngineDeps, 'store' | 'streams'>,
): Promise<void> {
  const run = await store.runs.getAnywhere(runId)
  if (!run || run.status === 'created' || run.status === 'running') return
  const stream = await streams.open(runId, {
    fence: run.fence,
    // The worker that held the run wrote its stream with the same fence.
    former: run.fence > 0 ? 'possible' : 'none',
    bound: run.chunkBound,
    raiseBound: () => store.runs.raiseChunkBound(runId, run.fence),
  })
  if (stream === 'fenced' || stream.found.ended) return
  catchUpStream(await store.events.read(runId, 0), stream)
  await streams.flush()
}
