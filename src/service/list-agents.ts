import type { Agent } from '../core/agent.ts'
import { Problem } from '../core/problem.ts'
import type { AgentFilter, ListPage } from '../ports/memory-store.ts'
import type { Desk } from './desk.ts'

export async function searchAgents(filter: AgentFilter, page: ListPage, desk: Desk): Promise<Agent[]> {
  const agents = await desk.world.store.agents.search(desk.organizationId, filter, page)
  if (agents) return agents
  throw new Problem('not-found', `There is no agent ${page.after ?? page.before} to go on from.`)
}

export const countAgents = (desk: Desk): Promise<number> => desk.world.store.agents.count(desk.organizationId)

export const listTags = (query: Parameters<Desk['world']['store']['tags']['list']>[1], desk: Desk): Promise<string[]> =>
  desk.world.store.tags.list(desk.organizationId, query)
