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
  let run = runId && (await store.runs.get(desk.organizationId, runId))
  if (!runId || !run) throw new Problem('not-found', `There is no run "${id}".`)
  if (await streams.isGone(run))
    throw new Problem('gone', `The stream of ${id} was removed after its retention time. Its messages are still there.`)
  for (let last = after; ; ) {
    // Its writer may have died between the last commit and the last chunk, or a crash of PostgreSQL taken the stream.
    if (run && isOver(run)) await finishStream(runId, desk.world)
    const ending = yield* noting(streams.watch(runId, { after: last, signal }), (number) => {
      last = number
    })
    if (ending !== 'missing') return ending
    run = await store.runs.getAnywhere(runId)
  }
}

/** Passes the chunks on and says where it is. */
async function* noting(
  chunks: AsyncGenerator<NumberedChunk, WatchEnd>,
  note: (number: number) => void,
): AsyncGenerator<NumberedChunk, WatchEnd> {
  try {
    for (;;) {
      const next = await chunks.next()
      if (next.done) return next.value
      note(next.value.number)
      yield next.value
    }
  } finally {
    await chunks.return('stopped')
  }
}
