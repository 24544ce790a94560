import type { NumberedChunk } from '../core/chunk.ts'
import { parseId } from '../core/id.ts'
import { Problem } from '../core/problem.ts'
import { isOver } from '../engine/engine.ts'
import { finishStream } from '../engine/finish-stream.ts'
import type { WatchEnd } from '../ports/streams.ts'
import type { Desk } from './desk.ts'

/** The run's stream after chunk `after`: what was, then what comes, up to its one terminal chunk. */
export async function* watchRun(
  id: string,
  { after = 0, signal }: { after?: number; signal: AbortSignal },
  desk: Desk,
): AsyncGenerator<NumberedChunk, WatchEnd> {
  const { store, streams } = desk.world
  const runId = parseId('run', id)
  const run = runId && (await store.runs.get(desk.organizationId, runId))
  if (!run) throw new Problem('not-found', `There is no run "${id}".`)
  if (await streams.isGone(run.id))
    throw new Problem('gone', `The stream of ${id} was removed after its retention time. Its messages are still there.`)
  // Its writer may have died between the last commit and the last chunk.
  if (isOver(run)) await finishStream(run.id, desk.world)
  return yield* streams.watch(run.id, { after, signal })
}
