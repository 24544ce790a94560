import type { Agent } from '../core/agent.ts'
import { Problem } from '../core/problem.ts'
import { cancelRun } from './cancel-run.ts'
import type { Desk } from './desk.ts'

/** What still runs is cancelled first, so that its tools and models stop; then all of it is gone at once. */
export async function deleteAgent(agent: Agent, desk: Desk): Promise<void> {
  const { store } = desk.world
  const active = { agentId: agent.id, statuses: ['created', 'running'] as ('created' | 'running')[] }
  for (const run of await store.runs.list(desk.organizationId, active, { limit: 100 })) {
    try {
      await cancelRun(run.id, desk)
    } catch (fault) {
      // It ended by itself meanwhile.
      if (!(fault instanceof Problem)) throw fault
    }
  }
  if (!(await store.agents.delete(desk.organizationId, agent.id)))
    throw new Problem('not-found', `There is no agent ${agent.id}.`)
}
