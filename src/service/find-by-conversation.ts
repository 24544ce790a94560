import type { Agent, Conversation } from '../core/agent.ts'
import type { ConversationId } from '../core/id.ts'
import { Problem } from '../core/problem.ts'
import type { Desk } from './desk.ts'

/** A conversation and whose it is. */
export async function findByConversation(
  id: ConversationId,
  { world, organizationId }: Desk,
): Promise<{ agent: Agent; conversation: Conversation }> {
  const { agents, conversations } = world.store
  const conversation = await conversations.get(organizationId, id)
  const agent = conversation && (await agents.get(organizationId, conversation.agentId))
  if (agent) return { agent, conversation }
  throw new Problem('not-found', `There is no conversation ${id}.`)
}
