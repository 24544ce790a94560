import type { Continuation } from '../core/event.ts'
import { parseId } from '../core/id.ts'
import { Problem } from '../core/problem.ts'
import type { Run, RunSettings } from '../core/run.ts'
import type { Desk } from './desk.ts'

export type OpenedStream = { run: Run; settings: RunSettings; continues?: Continuation }

/** What must be known of a run before its stream is told; refused before the first word rather than in the middle. */
export async function openStream(id: string, desk: Desk): Promise<OpenedStream> {
  const { store, streams } = desk.world
  const runId = parseId('run', id)
  const run = runId && (await store.runs.get(desk.organizationId, runId))
  if (!run) throw new Problem('not-found', `There is no run "${id}".`)
  if (await streams.isGone(run))
    throw new Problem('gone', `The stream of ${id} was removed after its retention time. Its messages are still there.`)
  const accepted = await store.events.first(run.id)
  if (accepted?.type !== 'input-accepted') throw new Error(`the log of ${id} does not begin with its input`)
  const { settings, continues } = accepted
  return { run, settings, ...(continues ? { continues } : {}) }
}
