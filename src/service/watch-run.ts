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
  return yield* watchOpened({ runId: run.id, hasEnded: isOver(run) }, wish, desk)
}

/** The same for one that was found already. Thousands may wait here for a word: it holds on to nothing it can do without. */
export async function* watchOpened(
  { runId, hasEnded }: { runId: RunId; hasEnded: boolean },
  { after = 0, signal }: WatchWish,
  { world }: Pick<Desk, 'world'>,
): AsyncGenerator<NumberedChunk, WatchEnd> {
  let last = after
  for (let isEnded = hasEnded; ; isEnded = await hasRunEnded(runId, world)) {
    // Its writer may have died between the last commit and the last chunk, or a crash of PostgreSQL taken the stream.
    if (isEnded) await finishStream(runId, world)
    const chunks = world.streams.watch(runId, { after: last, signal })
    let ending: WatchEnd | undefined
    try {
      while (ending === undefined) {
        const next = await chunks.next()
        if (next.done) ending = next.value
        else {
          last = next.value.number
          yield next.value
        }
      }
    } finally {
      await chunks.return('stopped')
    }
    if (ending !== 'missing') return ending
  }
}

async function hasRunEnded(runId: RunId, { store }: Desk['world']): Promise<boolean> {
  const run = await store.runs.getAnywhere(runId)
  return run !== undefined && isOver(run)
}
