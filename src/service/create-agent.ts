import type { Agent } from '../core/agent.ts'
import { Problem } from '../core/problem.ts'
import { isTargetHandle, type TargetHandle } from '../core/target.ts'
import type { Desk } from './desk.ts'

export type CreateAgent = { name: string; system?: string; model: string; fallback?: string[]; tools?: string[] }

const DEFAULT_SYSTEM = 'You are a helpful assistant. Use your tools when they help; say so when one fails.'

/** Makes an agent and its default conversation. */
export async function createAgent(request: CreateAgent, desk: Desk): Promise<Agent> {
  const { store, clock, randomness, tools } = desk.world
  const name = request.name.trim()
  if (name === '') throw new Problem('invalid', 'An agent needs a name.')
  const [model, ...fallback] = [request.model, ...(request.fallback ?? [])].map(requireHandle)
  const unknown = (request.tools ?? []).filter((tool) => !tools.find(tool))
  if (unknown.length > 0)
    throw new Problem('invalid', `No such tool: ${unknown.join(', ')}. Available: ${tools.names().join(', ')}.`)
  const now = clock.now()
  const agent: Agent = {
    id: `agent-${randomness.uuid()}`,
    organizationId: desk.organizationId,
    name,
    system: request.system ?? DEFAULT_SYSTEM,
    model: model!,
    fallback,
    tools: request.tools ?? tools.names(),
    createdAt: now,
    updatedAt: now,
  }
  await store.agents.create(agent, `conv-${randomness.uuid()}`)
  return agent
}

function requireHandle(handle: string): TargetHandle {
  if (isTargetHandle(handle)) return handle
  throw new Problem(
    'invalid',
    `"${handle}" is not a model handle. Write provider/model, for example scripted/friendly.`,
  )
}
