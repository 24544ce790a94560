import type { LoggedEvent } from '../core/event.ts'
import { parseId } from '../core/id.ts'
import type { Message } from '../core/message.ts'
import { Problem } from '../core/problem.ts'
import type { NewStep } from '../core/projection.ts'
import type { Run } from '../core/run.ts'
import type { RunFilter } from '../ports/store.ts'
import type { Desk } from './desk.ts'

export type RunStory = { run: Run; events: LoggedEvent[]; steps: NewStep[]; messages: Message[] }

/** Everything that is known of a run: why it ended, which model answered, what was retried. */
export async function showRun(id: string, desk: Desk): Promise<RunStory> {
  const { store } = desk.world
  const runId = parseId('run', id)
  const run = runId && (await store.runs.get(desk.organizationId, runId))
  if (!run) throw new Problem('not-found', `There is no run "${id}". \`holdfast runs\` lists them.`)
  const [events, steps, messages] = await Promise.all([
    store.events.read(run.id, 0),
    store.runs.steps(run.id),
    store.messages.ofRun(run.id),
  ])
  return { run, events, steps, messages }
}

export const listRuns = (filter: RunFilter, limit: number, desk: Desk): Promise<Run[]> =>
  desk.world.store.runs.list(desk.organizationId, filter, { limit })
