import type { AgentId, ConversationId, MessageId, OrganizationId } from '../core/id.ts'
import type { Message, MessageRole } from '../core/message.ts'
import type { LastRun } from './agent-store.ts'
import type { ListPage, ListResult } from './list-page.ts'
import type { QueryEmbedding, VectorStore } from './vector-store.ts'

export type MessageVectors = VectorStore & {
  /** Nearest first, of what was said and this model embedded. */
  nearest(
    organizationId: OrganizationId,
    agentId: AgentId | undefined,
    query: Omit<MessageSearchQuery, 'text' | 'skip'> & QueryEmbedding,
  ): Promise<MessageWithAgent[]>
}

export type MessageSearchQuery = {
  /** Words to look for, whatever else stands between them; without any, the newest. */
  text: string
  roles?: readonly string[]
  from?: number
  to?: number
  limit: number
  /** How many of the best are passed over. */
  skip?: number
  conversationId?: ConversationId
}

/** Where a conversation stands, all of it at one moment. */
export type ConversationState = {
  /** What the model is shown, in order. */
  context: { id: MessageId; role: MessageRole }[]
  /** The answer whose calls wait for somebody's word. */
  waiting?: Message
  /** Of the agent, in whichever of its conversations. */
  lastRun: LastRun
}

/** A message and the agent it belongs to. */
export type MessageWithAgent = Message & { agentId: AgentId }

/** Everything an agent ever said or was told, in all of its conversations. */
export type MessageSearchStore = {
  /** Undefined: there is no such conversation. */
  conversationState(organizationId: OrganizationId, id: ConversationId): Promise<ConversationState | undefined>
  /** Without an agent, what all agents of the organization said. What a fork copied is found once, unless it is asked. */
  search(
    organizationId: OrganizationId,
    agentId: AgentId | undefined,
    query: MessageSearchQuery,
  ): Promise<MessageWithAgent[]>
  /** Indexes what was said since, of all organizations, for about this long. Searches do so too, for what they search. */
  catchUp(forMs: number): Promise<'done' | 'more'>
  vectors: MessageVectors
  /** The messages of all agents, or of one conversation, in the order of time. */
  list(
    organizationId: OrganizationId,
    page: ListPage & { conversationId?: ConversationId },
  ): ListResult<MessageWithAgent>
}
