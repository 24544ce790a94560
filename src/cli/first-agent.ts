import type { Agent } from '../core/agent.ts'
import { createAgent } from '../service/create-agent.ts'
import type { Desk } from '../service/desk.ts'
import { findAgent, listAgents } from '../service/find-agent.ts'

/** Where nothing is configured this one serves, so that the first command a newcomer types shows a whole turn. */
export const FIRST_MODEL = 'scripted/friendly'

/** The named agent; without a name the first one there is, which is made if there is none. */
export async function agentOrFirst(name: string | undefined, desk: Desk): Promise<Agent> {
  if (name !== undefined) return findAgent(name, desk)
  const agents = await listAgents(desk)
  // Newest first: the one people began with is the last.
  return agents.at(-1) ?? createAgent({ name: 'assistant', model: desk.defaults.model ?? FIRST_MODEL }, desk)
}
