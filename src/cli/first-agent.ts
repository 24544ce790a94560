import type { Agent } from '../core/agent.ts'
import { MEMORY_TOOLS } from '../core/base-tools.ts'
import { listAgents, requireAgent } from '../service/agents/agents.ts'
import type { House } from './house.ts'

/** Where nothing is configured this one serves, so that the first command a newcomer types shows a whole turn. */
export const FIRST_MODEL = 'scripted/friendly'

/** The named agent; without a name the first one there is, which is made if there is none. */
export async function agentOrFirst(name: string | undefined, house: Pick<House, 'desk' | 'verbs'>): Promise<Agent> {
  const { desk, verbs } = house
  if (name !== undefined) return requireAgent(name, desk)
  const agents = await listAgents(desk)
  // Newest first: the one people began with is the last.
  if (agents.length > 0) return agents.at(-1)!
  // It may show all there is, a terminal included: whoever types here sits at the machine it is on.
  const tools = desk.world.tools.names().filter((name) => !MEMORY_TOOLS.includes(name))
  return verbs.createAgent({ name: 'assistant', model: desk.defaults.model ?? FIRST_MODEL, tools })
}
