import type { NumberedChunk } from '../core/chunk.ts'
import type { RunId } from '../core/id.ts'
import { isOver } from '../engine/engine.ts'
import { finishStream } from '../engine/finish-stream.ts'
import type { WatchEnd } from '../ports/streams.ts'
import type { Desk } from './desk.ts'
import { requireStream } from './open-stream.ts'

export type WatchWish = { after?: number; signal: AbortSignal }

/** The run's stream after chunk `after`: what was, then what comes, up to its one terminal chunk. */
export async function* watchRun(id: string, wish: WatchWish, desk: Desk): AsyncGenerator<NumberedChunk, WatchEnd> {
  const run = await requireStream(id, desk)
  return yield* await watchOpened({ runId: run.id, hasEnded: isOver(run) }, wish, desk)
}

/** The same for one that was found already. Thousands may wait here for a word: nothing stands between them and the log. */
export async function watchOpened(
  { runId, hasEnded }: { runId: RunId; hasEnded: boolean },
  { after = 0, signal }: WatchWish,
  { world }: Pick<Desk, 'world'>,
): Promise<AsyncGenerator<NumberedChunk, WatchEnd>> {
  // Its writer may have died between the last commit and the last chunk, or a crash of PostgreSQL taken the stream.
  if (hasEnded) await finishStream(runId, world)
  const whenMissing = async () => {
    if (await hasRunEnded(runId, world)) await finishStream(runId, world)
  }
  return world.streams.watch(runId, { after, signal, whenMissing })
}

async function hasRunEnded(runId: RunId, { store }: Desk['world']): Promise<boolean> {
  const run = await store.runs.getAnywhere(runId)
  return run !== undefined && isOver(run)
}
