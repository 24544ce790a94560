import type { Agent } from '../core/agent.ts'
import { MEMORY_TOOLS } from '../core/base-tools.ts'
import { listAgents, requireAgent } from '../service/agents/agents.ts'
import type { HomeSession } from './home-session.ts'

/** The default without any configuration, so that the first command of a new user shows a whole turn. */
export const FIRST_MODEL = 'scripted/friendly'

/** The named agent; without a name the oldest agent, which is created if there is none. */
export async function agentOrFirst(
  name: string | undefined,
  session: Pick<HomeSession, 'context' | 'verbs'>,
): Promise<Agent> {
  const { context, verbs } = session
  if (name !== undefined) return requireAgent(name, context)
  const agents = await listAgents(context)
  // The list is newest first.
  if (agents.length > 0) return agents.at(-1)!
  // All tools, the shell included: the user of the CLI has access to this machine anyway.
  const tools = context.deps.tools.names().filter((name) => !MEMORY_TOOLS.includes(name))
  return verbs.createAgent({ name: 'assistant', model: context.defaults.model ?? FIRST_MODEL, tools })
}
