import type { NumberedChunk } from '../core/chunk.ts'
import type { RunId } from '../core/id.ts'
import type { Run } from '../core/run.ts'
import { waitForRun } from '../service/runs/watch-run.ts'
import type { HomeSession } from './home-session.ts'
import { NEW_RENDER_STATE, renderChunk } from './render/chunk.ts'
import type { Screen } from './terminal.ts'

type FollowOptions = {
  session: Pick<HomeSession, 'context' | 'verbs'>
  signal: AbortSignal
  answers: Screen
  notes: Screen
  /** Called for each chunk after it is printed. */
  onChunk?(chunk: NumberedChunk): void
}

/** Prints a run from its beginning to its end as it happens; resolves with the ended run. */
export async function followRun(
  runId: RunId,
  { session, signal, answers, notes, onChunk }: FollowOptions,
): Promise<Run> {
  const { context, verbs } = session
  let state = NEW_RENDER_STATE
  let after = 0
  for (;;) {
    const chunks = verbs.watch(runId, { after, signal })
    let next = await chunks.next()
    for (; !next.done; next = await chunks.next()) {
      const rendered = renderChunk(state, next.value.chunk, notes.look)
      for (const { to, text } of rendered.pieces) (to === 'answer' ? answers : notes).write(text)
      state = rendered.state
      after = next.value.number
      onChunk?.(next.value)
    }
    // A reader that fell behind resumes after the last chunk it printed.
    if (next.value !== 'behind') break
  }
  return waitForRun(runId, context, signal)
}
