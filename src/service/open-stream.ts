import type { Continuation } from '../core/event.ts'
import { parseId, type RunId } from '../core/id.ts'
import { Problem } from '../core/problem.ts'
import type { Run } from '../core/run.ts'
import { isOver } from '../engine/engine.ts'
import type { Desk } from './desk.ts'

/** No more than a view needs: whoever watches may do so for days. */
export type OpenedStream = { runId: RunId; hasEnded: boolean; streamTokens: boolean; continues?: Continuation }

/** The run whose stream can be read; refused before the first word rather than in the middle. */
export async function requireStream(id: string, desk: Desk): Promise<Run> {
  const { store, streams } = desk.world
  const runId = parseId('run', id)
  const run = runId && (await store.runs.get(desk.organizationId, runId))
  if (!run) throw new Problem('not-found', `There is no run "${id}".`)
  if (await streams.isGone(run))
    throw new Problem('gone', `The stream of ${id} was removed after its retention time. Its messages are still there.`)
  return run
}

/** What must be known of a run before its stream is told. */
export async function openStream(id: string, desk: Desk): Promise<OpenedStream> {
  const run = await requireStream(id, desk)
  const accepted = await desk.world.store.events.first(run.id)
  if (accepted?.type !== 'input-accepted') throw new Error(`the log of ${id} does not begin with its input`)
  const { settings, continues } = accepted
  const opened = { runId: run.id, hasEnded: isOver(run), streamTokens: settings.streamTokens }
  return continues ? { ...opened, continues } : opened
}
