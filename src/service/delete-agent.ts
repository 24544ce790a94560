import type { Agent } from '../core/agent.ts'
import type { RunId } from '../core/id.ts'
import { Problem } from '../core/problem.ts'
import { cancelRun } from './cancel-run.ts'
import { closeConversations } from './close-workspace.ts'
import type { Desk } from './desk.ts'
import { waitForRun } from './wait-for-run.ts'

const STATUSES: ('created' | 'running')[] = ['created', 'running']

/**
 * What still runs is cancelled and heard out, so that its tools and models have stopped; then all rows are gone at once,
 * then what its conversations kept warm and their workspaces. A run that does not end before the signal is not waited
 * for: its worker finds its lease gone.
 */
export async function deleteAgent(agent: Agent, desk: Desk, signal: AbortSignal): Promise<void> {
  const { store } = desk.world
  const { organizationId } = desk
  for (;;) {
    const active = await store.runs.list(organizationId, { agentId: agent.id, statuses: STATUSES }, { limit: 100 })
    for (const { id } of active) await unlessOver(cancelRun(id, desk))
    if (active.length === 0 || signal.aborted) break
    await Promise.all(active.map(({ id }: { id: RunId }) => unlessOver(waitForRun(id, desk, signal))))
  }
  const conversations = await store.conversations.list(organizationId, agent.id)
  if (!(await store.agents.delete(organizationId, agent.id)))
    throw new Problem('not-found', `There is no agent ${agent.id}.`)
  await closeConversations(
    conversations.map(({ id }) => id),
    desk,
  )
}

/** It may end by itself meanwhile, or be deleted by somebody else. */
async function unlessOver(work: Promise<unknown>): Promise<void> {
  try {
    await work
  } catch (fault) {
    if (!(fault instanceof Problem)) throw fault
  }
}
