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
  for await (const numbered of verbs.watch(runId, { after: 0, signal })) {
    const rendered = renderChunk(state, numbered.chunk, notes.look)
    for (const { to, text } of rendered.pieces) (to === 'answer' ? answers : notes).write(text)
    state = rendered.state
    onChunk?.(numbered)
  }
  return waitForRun(runId, context, signal)
}
