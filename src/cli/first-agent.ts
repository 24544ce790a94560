import type { Agent } from '../core/agent.ts'
import { findAgent, listAgents } from '../service/find-agent.ts'
import type { House } from './house.ts'

/** Where nothing is configured this one serves, so that the first command a newcomer types shows a whole turn. */
export const FIRST_MODEL = 'scripted/friendly'

/** The named agent; without a name the first one there is, which is made if there is none. */
export async function agentOrFirst(name: string | undefined, house: Pick<House, 'desk' | 'verbs'>): Promise<Agent> {
  const { desk, verbs } = house
  if (name !== undefined) return findAgent(name, desk)
  const agents = await listAgents(desk)
  // Newest first: the one people began with is the last.
  return agents.at(-1) ?? verbs.createAgent({ name: 'assistant', model: desk.defaults.model ?? FIRST_MODEL })
}
