import type { Agent } from '../core/agent.ts'
import { BASE_TOOLS, DEMO_TOOLS, WORKSPACE_TOOLS } from '../core/base-tools.ts'
import { parseTarget, SCRIPTED } from '../core/target.ts'
import { listAgents, requireAgent } from '../service/agents/agents.ts'
import { DEFAULT_BLOCKS } from '../service/agents/create-agent.ts'
import type { HomeSession } from './home-session.ts'

/** The named agent; without a name the oldest agent, which is created if there is none. */
export async function agentOrFirst(
  name: string | undefined,
  session: Pick<HomeSession, 'context' | 'verbs'>,
): Promise<Agent> {
  const { context, verbs } = session
  if (name !== undefined) return requireAgent(name, context)
  // Newest first.
  const agents = await listAgents(context)
  if (agents.length > 0) return agents.at(-1)!
  const { model } = context.defaults
  const isScripted = parseTarget(model)?.provider === SCRIPTED
  return verbs.createAgent({
    name: 'assistant',
    model,
    // The shell included: the user of the CLI has access to this machine anyway.
    tools: ['current_time', ...(isScripted ? DEMO_TOOLS : BASE_TOOLS), ...WORKSPACE_TOOLS],
    ...(isScripted ? undefined : MEMORY),
  })
}

const MEMORY = { blocks: [...DEFAULT_BLOCKS] }
