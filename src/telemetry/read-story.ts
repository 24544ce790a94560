import { defined } from '../core/defined.ts'
import type { RunId } from '../core/id.ts'
import type { Store } from '../ports/store.ts'
import type { RunStory } from './run-spans.ts'

/** What is stored about a run that ended, or whose wait ended; undefined if it was deleted. */
export async function readStory(runId: RunId, store: Store): Promise<Omit<RunStory, 'part'> | undefined> {
  const run = await store.runs.getAnywhere(runId)
  if (!run) return undefined
  const events = await store.events.read(runId, 0)
  const agent = await store.agents.get(run.organizationId, run.agentId)
  const first = events[0]?.event
  const asker = first?.type === 'input-accepted' ? first.continues?.runId : undefined
  const approval = asker && (await readApproval(asker, store))
  return { run, events, ...defined({ agentName: agent?.name, approval }) }
}

/** The last two events of a run whose approval was answered are its wait. */
async function readApproval(runId: RunId, store: Store): Promise<RunStory['approval']> {
  const asker = await store.runs.getAnywhere(runId)
  const tail = asker ? await store.events.read(runId, Math.max(0, asker.nextSeq - 3)) : []
  const answered = tail.findLast(({ event }) => event.type === 'approval-answered')
  const asked = tail.findLast(({ event }) => event.type === 'turn-ended')
  return asker && asked && answered ? { asker, askedAt: asked.at, answered } : undefined
}
