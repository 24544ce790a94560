import type { NumberedChunk } from '../core/chunk.ts'
import type { RunId } from '../core/id.ts'
import type { Run } from '../core/run.ts'
import type { Desk } from '../service/desk.ts'
import { waitForRun } from '../service/wait-for-run.ts'
import { watchRun } from '../service/watch-run.ts'
import { NEW_TELLING, renderChunk } from './render-chunk.ts'
import type { Screen } from './terminal.ts'

export type FollowOptions = {
  desk: Desk
  signal: AbortSignal
  answers: Screen
  notes: Screen
  /** Told of each chunk after it was shown. */
  onChunk?(chunk: NumberedChunk): void
}

/** Shows a run as it happens, from its beginning to its end; resolves with the run as it is then. */
export async function followRun(runId: RunId, { desk, signal, answers, notes, onChunk }: FollowOptions): Promise<Run> {
  let telling = NEW_TELLING
  let after = 0
  for (;;) {
    const chunks = watchRun(runId, { after, signal }, desk)
    let next = await chunks.next()
    for (; !next.done; next = await chunks.next()) {
      const told = renderChunk(telling, next.value.chunk, notes.look)
      for (const { to, text } of told.pieces) (to === 'answer' ? answers : notes).write(text)
      telling = told.telling
      after = next.value.number
      onChunk?.(next.value)
    }
    // A reader that fell behind comes back where it was.
    if (next.value !== 'behind') break
  }
  return waitForRun(runId, desk, signal)
}
