import type { Agent, Conversation } from '../core/agent.ts'
import { promptOf } from './compile-prompt.ts'
import type { Desk } from './desk.ts'

export const listConversations = (agent: Agent, desk: Desk): Promise<Conversation[]> =>
  desk.world.store.conversations.list(desk.organizationId, agent.id)

/** Another conversation of this agent, beside its default one. */
export async function createConversation(agent: Agent, desk: Desk): Promise<Conversation> {
  const { store, clock, randomness } = desk.world
  const conversation: Conversation = {
    id: `conv-${randomness.uuid()}`,
    organizationId: desk.organizationId,
    agentId: agent.id,
    isDefault: false,
    createdAt: clock.now(),
    contextStart: 0,
    nextPosition: 0,
  }
  await store.conversations.create(conversation)
  // From now on it is told this, whatever becomes of the memory it is made of.
  await promptOf(conversation.id, desk)
  return conversation
}
