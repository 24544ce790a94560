import type { Agent } from '../../core/agent.ts'
import { defined } from '../../core/defined.ts'
import { type AgentId, parseId } from '../../core/id.ts'
import { Problem } from '../../core/problem.ts'
import { agentsNamed, findAgent, searchAgents } from '../../service/agents/agents.ts'
import type { ServiceContext } from '../../service/service-context.ts'

/** A model is an agent; with `/once` a question to it that leaves no memory. */
export type AgentModel = { agent: Agent; isOnce: boolean }

const BY_NAME = 'agent:'
const ONCE = '/once'

/** Finds the agent that a request names as its model. */
export async function requireAgentModel(model: string, context: ServiceContext): Promise<AgentModel> {
  const whole = await findByModel(model, context)
  if (whole) return { agent: whole, isOnce: false }
  const agent = model.endsWith(ONCE) ? await findByModel(model.slice(0, -ONCE.length), context) : undefined
  if (agent) return { agent, isOnce: true }
  throw new Problem(
    'not-found',
    `The model "${model.slice(0, 200)}" does not exist. A model is an agent: ${BY_NAME}<name> or its id; GET /openai/v1/models lists them.`,
    { param: 'model', code: 'model_not_found' },
  )
}

async function findByModel(model: string, context: ServiceContext): Promise<Agent | undefined> {
  const id = parseId('agent', model)
  if (id) return findAgent(id, context)
  if (!model.startsWith(BY_NAME)) return undefined
  const name = model.slice(BY_NAME.length)
  const [agent, ...more] = await agentsNamed(name, context)
  if (more.length === 0) return agent
  const ids = [agent!, ...more].map((one) => one.id).join(', ')
  throw new Problem('invalid-argument', `Several agents are named "${name}": use one of ${ids} as the model.`, {
    param: 'model',
  })
}

export type ListedModel = { id: string; createdAt: number; agentId: AgentId }

const AT_ONCE = 200

/** A model for each agent, oldest first. Agents that share a name have their ids. */
export async function listAgentModels(context: ServiceContext): Promise<ListedModel[]> {
  const agents: Agent[] = []
  for (let after: string | undefined; ; after = agents.at(-1)!.id) {
    const page = await searchAgents({}, defined({ limit: AT_ONCE, order: 'asc' as const, after }), context)
    agents.push(...page)
    if (page.length < AT_ONCE) break
  }
  const counts = new Map<string, number>()
  for (const { name } of agents) counts.set(name, (counts.get(name) ?? 0) + 1)
  return agents
    .filter(({ settings }) => settings?.hidden !== true)
    .flatMap((agent) => {
      const id = counts.get(agent.name) === 1 ? `${BY_NAME}${agent.name}` : agent.id
      const { createdAt, id: agentId } = agent
      return [id, `${id}${ONCE}`].map((model) => ({ id: model, createdAt, agentId }))
    })
}
