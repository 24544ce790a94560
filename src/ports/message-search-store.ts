import type { AgentId, ConversationId, MessageId, OrganizationId } from '../core/id.ts'
import type { Message, MessageRole } from '../core/message.ts'
import type { LastRun } from './agent-store.ts'
import type { ListPage, ListResult } from './list-page.ts'
import type { QueryEmbedding, VectorStore } from './vector-store.ts'

export type MessageVectors = VectorStore & {
  /** Nearest first, among indexed messages embedded by this model. */
  nearest(
    organizationId: OrganizationId,
    agentId: AgentId | undefined,
    query: Omit<MessageSearchQuery, 'text' | 'skip'> & QueryEmbedding,
  ): Promise<MessageWithAgent[]>
}

export type MessageSearchQuery = {
  /** Words to search for, in any order; empty lists the newest messages. */
  text: string
  roles?: readonly string[]
  from?: number
  to?: number
  limit: number
  /** How many of the best matches to skip. */
  skip?: number
  conversationId?: ConversationId
}

/** State of a conversation, from one snapshot. */
export type ConversationState = {
  /** Messages in the model's context, in order. */
  context: { id: MessageId; role: MessageRole }[]
  /** The answer whose tool calls await approval. */
  waiting?: Message
  /** Last ended run of the agent, in any conversation. */
  lastRun: LastRun
}

/** A message with the agent it belongs to. */
export type MessageWithAgent = Message & { agentId: AgentId }

/** Search over all messages of an agent, in all its conversations. */
export type MessageSearchStore = {
  /** Undefined: no such conversation. */
  conversationState(organizationId: OrganizationId, id: ConversationId): Promise<ConversationState | undefined>
  /**
   * Without an agent, searches all agents of the organization. A copy in a fork is found once, through its original,
   * unless the query names the fork.
   */
  search(
    organizationId: OrganizationId,
    agentId: AgentId | undefined,
    query: MessageSearchQuery,
  ): Promise<MessageWithAgent[]>
  /** Indexes new messages of all organizations for about `forMs`. A search also does this for its own scope. */
  catchUp(forMs: number): Promise<'done' | 'more'>
  /** Conversations with messages that are not indexed yet, at most `limit`. */
  countLagging(limit: number): Promise<number>
  vectors: MessageVectors
  /** Messages of all agents, or of one conversation, in order of time. */
  list(
    organizationId: OrganizationId,
    page: ListPage & { conversationId?: ConversationId },
  ): ListResult<MessageWithAgent>
}
