import type { Agent } from '../../core/agent.ts'
import { listConversations } from '../conversations/conversations.ts'
import type { ServiceContext } from '../service-context.ts'
import { blocksOf } from './agent-blocks.ts'

/** What belongs to an agent and is deleted with it; `blocks` stay. */
export type AgentFootprint = { conversations: number; messages: number; passages: number; blocks: number }

export async function agentFootprint(agent: Agent, context: ServiceContext): Promise<AgentFootprint> {
  const conversations = await listConversations(agent, context)
  const own = conversations.find(({ isDefault }) => isDefault)
  const inputs = own && (await context.deps.store.prompts.inputs(context.organizationId, own.id))
  return {
    conversations: conversations.length,
    // Positions are dense, so the next one is the number of messages.
    messages: conversations.reduce((sum, { nextPosition }) => sum + nextPosition, 0),
    passages: inputs?.passageCount ?? 0,
    blocks: (await blocksOf(agent, context)).length,
  }
}
