import type { Agent } from '../core/agent.ts'
import { MEMORY_TOOLS } from '../core/base-tools.ts'
import { listAgents, requireAgent } from '../service/agents/agents.ts'
import type { HomeSession } from './home-session.ts'

/** Where nothing is configured this one serves, so that the first command a newcomer types shows a whole turn. */
export const FIRST_MODEL = 'scripted/friendly'

/** The named agent; without a name the first one there is, which is made if there is none. */
export async function agentOrFirst(
  name: string | undefined,
  session: Pick<HomeSession, 'context' | 'verbs'>,
): Promise<Agent> {
  const { context, verbs } = session
  if (name !== undefined) return requireAgent(name, context)
  const agents = await listAgents(context)
  // Newest first: the one people began with is the last.
  if (agents.length > 0) return agents.at(-1)!
  // It may show all there is, a terminal included: whoever types here sits at the machine it is on.
  const tools = context.deps.tools.names().filter((name) => !MEMORY_TOOLS.includes(name))
  return verbs.createAgent({ name: 'assistant', model: context.defaults.model ?? FIRST_MODEL, tools })
}
