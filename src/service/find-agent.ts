import type { Agent, Conversation } from '../core/agent.ts'
import { parseId } from '../core/id.ts'
import { Problem } from '../core/problem.ts'
import type { Desk } from './desk.ts'

/** By id or by name; an id of somebody else looks like one that does not exist. */
export async function findAgent(idOrName: string, desk: Desk): Promise<Agent> {
  const { agents } = desk.world.store
  const id = parseId('agent', idOrName)
  const agent = id ? await agents.get(desk.organizationId, id) : await agents.findByName(desk.organizationId, idOrName)
  if (agent) return agent
  throw new Problem('not-found', `There is no agent "${idOrName}". \`holdfast agents\` lists them.`)
}

export const listAgents = (desk: Desk): Promise<Agent[]> =>
  desk.world.store.agents.list(desk.organizationId, { limit: 100 })

/** The named conversation of this agent, or its default one. */
export async function findConversation(agent: Agent, id: string | undefined, desk: Desk): Promise<Conversation> {
  const { conversations } = desk.world.store
  const parsed = id === undefined ? undefined : parseId('conv', id)
  const found =
    id === undefined
      ? await conversations.defaultOf(desk.organizationId, agent.id)
      : parsed && (await conversations.get(desk.organizationId, parsed))
  if (found?.agentId === agent.id) return found
  throw new Problem('not-found', `Agent ${agent.name} has no conversation "${id ?? 'default'}".`)
}
