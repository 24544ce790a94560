import type { LoggedEvent } from '../../core/event.ts'
import { type ConversationId, parseId, type RunId } from '../../core/id.ts'
import type { Message } from '../../core/message.ts'
import { principalOf } from '../../core/people.ts'
import { Problem } from '../../core/problem.ts'
import type { NewStep } from '../../core/projection.ts'
import type { Run } from '../../core/run.ts'
import { cancelRun as cancel } from '../../engine/cancel-run.ts'
import type { OwnRunCounts, RunCounts, RunFilter, RunPage } from '../../ports/store.ts'
import type { ServiceContext } from '../service-context.ts'

export type RunDetails = { run: Run; events: LoggedEvent[]; steps: NewStep[]; messages: Message[] }

/** Everything that is stored about a run: why it ended, which model answered, what was retried. */
export async function showRun(id: string, context: ServiceContext): Promise<RunDetails> {
  const { store } = context.deps
  const runId = parseId('run', id)
  const run = runId && (await store.runs.get(context.organizationId, runId))
  if (!run) throw new Problem('not-found', `There is no run "${id}". \`holdfast runs\` lists them.`)
  const [events, steps, messages] = await Promise.all([
    store.events.read(run.id, 0),
    store.runs.steps(run.id),
    store.messages.ofRun(run.id),
  ])
  return { run, events, steps, messages }
}

export const listRuns = (filter: RunFilter, limit: number, context: ServiceContext): Promise<Run[]> =>
  context.deps.store.runs.list(context.organizationId, filter, { limit })

export const listRunPage = (
  filter: RunFilter,
  page: RunPage,
  { deps, organizationId }: ServiceContext,
): Promise<Run[]> => deps.store.runs.list(organizationId, filter, page)

export const findRun = (id: RunId, { deps, organizationId }: ServiceContext): Promise<Run | undefined> =>
  deps.store.runs.get(organizationId, id)

export const findRunByOtid = (
  conversationId: ConversationId,
  otid: string,
  context: ServiceContext,
): Promise<RunId | undefined> => context.deps.store.runs.findByOtid(context.organizationId, conversationId, otid)

/** Unfinished runs of all organizations: for the operator's metrics, never for a caller's request. */
export const countRuns = ({ deps }: ServiceContext): Promise<RunCounts> => deps.store.runs.countActive()

export const countOwnRuns = ({ deps, organizationId }: ServiceContext): Promise<OwnRunCounts> =>
  deps.store.runs.countOf(organizationId)

/** The number of turns that run in this process. */
export const countRunningTurns = ({ engine }: ServiceContext): number => engine?.dispatcher.running().length ?? 0

/** Requests the cancellation of a run. Resolves when the request is on disk; a running run ends within seconds. */
export async function cancelRun(id: string, context: ServiceContext): Promise<Run> {
  const { deps, engine, organizationId } = context
  const runId = parseId('run', id)
  const notify = (which: Run['id']) => {
    engine?.dispatcher.notify(which)
    engine?.completions.notify(which)
    engine?.dispatcher.wake('queue')
  }
  const run =
    runId &&
    (await cancel({ organizationId, runId }, { cause: 'person', by: principalOf(context.caller) }, { ...deps, notify }))
  if (!run) throw new Problem('not-found', `There is no run "${id}". \`holdfast runs\` lists them.`)
  return run
}

/** The response was sent completely. If this is not stored, a retry attaches to the run again, which is harmless. */
export async function markAnswered(runId: RunId, { deps }: ServiceContext): Promise<void> {
  try {
    await deps.store.runs.markAnswered(runId)
  } catch (fault) {
    deps.report(fault, `recording that the request of ${runId} was answered`)
  }
}
