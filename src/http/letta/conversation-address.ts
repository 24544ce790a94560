import type { Agent, Conversation } from '../../core/agent.ts'
import { parseId } from '../../core/id.ts'
import { requireConversationAndAgent } from '../../service/conversations/conversations.ts'
import type { Desk } from '../../service/desk.ts'
import { refuse } from './errors.ts'
import { conversationOf, requireAgent } from './parse.ts'

export type Addressed = { agent: Agent; conversation: Conversation }

/**
 * The conversation a path names: by its own id, as the `default` one of an agent that is named beside it, or, as old
 * clients do, by the id of that agent.
 */
export async function requireConversation(
  params: unknown,
  agentId: string | null | undefined,
  desk: Desk,
): Promise<Addressed> {
  const text = (params as { conversation_id: string }).conversation_id
  if (text === 'default' && !agentId)
    throw refuse(404, 'NOT_FOUND: there is no conversation "default" without the `agent_id` it belongs to')
  const agentNamed = text === 'default' ? agentId : text.startsWith('agent-') ? text : undefined
  if (agentNamed) {
    const agent = await requireAgent({ agent_id: agentNamed }, desk)
    return { agent, conversation: await conversationOf(agent, undefined, desk) }
  }
  const id = parseId('conv', text)
  if (!id)
    throw refuse(
      422,
      `path.conversation_id: must be conv- and a lower-case UUID of version 4, or default, not "${text.slice(0, 80)}"`,
    )
  return requireConversationAndAgent(id, desk)
}
