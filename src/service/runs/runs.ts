import type { LoggedEvent } from '../../core/event.ts'
import { type ConversationId, parseId, type RunId } from '../../core/id.ts'
import type { Message } from '../../core/message.ts'
import { Problem } from '../../core/problem.ts'
import type { NewStep } from '../../core/projection.ts'
import type { Run } from '../../core/run.ts'
import { cancelRun as cancel } from '../../engine/cancel-run.ts'
import type { RunCensus, RunFilter, RunPage } from '../../ports/store.ts'
import type { Desk } from '../desk.ts'

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

export const listRunPage = (filter: RunFilter, page: RunPage, { world, organizationId }: Desk): Promise<Run[]> =>
  world.store.runs.list(organizationId, filter, page)

export const findRun = (id: RunId, { world, organizationId }: Desk): Promise<Run | undefined> =>
  world.store.runs.get(organizationId, id)

export const findRunByOtid = (conversationId: ConversationId, otid: string, desk: Desk): Promise<RunId | undefined> =>
  desk.world.store.runs.ofOtid(desk.organizationId, conversationId, otid)

/** Runs that are not over, of every organization: for the operator's metrics, never for a caller's request. */
export const countRuns = ({ world }: Desk): Promise<RunCensus> => world.store.runs.census()

/** How many turns this process runs. */
export const turnsHere = ({ engine }: Desk): number => engine?.dispatcher.running().length ?? 0

/** Asks for a run to end. Resolves when the wish is on disk; a running run ends within seconds. */
export async function cancelRun(id: string, desk: Desk): Promise<Run> {
  const { world, engine, organizationId } = desk
  const runId = parseId('run', id)
  const nudge = (which: Run['id']) => {
    engine?.dispatcher.nudge(which)
    engine?.endings.announce(which)
    engine?.dispatcher.wake('queue')
  }
  const run = runId && (await cancel({ organizationId, runId }, 'person', { ...world, nudge }))
  if (!run) throw new Problem('not-found', `There is no run "${id}". \`holdfast runs\` lists them.`)
  return run
}

/** The response was sent to its end. If this is not kept, a retry attaches to the run once more, which does no harm. */
export async function markAnswered(runId: RunId, { world }: Desk): Promise<void> {
  try {
    await world.store.runs.markAnswered(runId)
  } catch (fault) {
    world.report(fault, `noting that the request of ${runId} was answered`)
  }
}
