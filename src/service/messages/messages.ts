import { defined } from '../../core/defined.ts'
import type { AgentId, ConversationId, MessageId, OrganizationId } from '../../core/id.ts'
import type { Message } from '../../core/message.ts'
import { Problem } from '../../core/problem.ts'
import { searchableText, searchTerms } from '../../core/search-terms.ts'
import type { Embeddings } from '../../ports/embeddings.ts'
import type { ListPage } from '../../ports/list-page.ts'
import type { MessageSearchQuery, MessageWithAgent } from '../../ports/message-search-store.ts'
import type { MessagePage, Store } from '../../ports/store.ts'
import type { QueryEmbedding } from '../../ports/vector-store.ts'
import { findEmbeddingTarget, type HybridSearchResult, hybridSearch, type RankedItem } from '../search/hybrid-search.ts'
import type { ServiceContext } from '../service-context.ts'

export const listMessages = (
  conversationId: ConversationId,
  page: MessagePage,
  context: ServiceContext,
): Promise<Message[]> => context.deps.store.messages.list(context.organizationId, conversationId, page)

/** By any of these ids, the first that exists: a message may be known to a client by another one. */
export async function findMessage(
  ids: readonly MessageId[],
  { deps, organizationId }: ServiceContext,
  conversationId?: ConversationId,
): Promise<Message | undefined> {
  for (const id of ids) {
    const message = await deps.store.messages.get(organizationId, id, conversationId)
    if (message) return message
  }
  return undefined
}

type SearchMessagesRequest = {
  text: string
  agentId?: AgentId
  conversationId?: ConversationId
  from?: number
  to?: number
  limit: number
  /** By meaning only where an embedding model is configured; otherwise by words. */
  by: 'words' | 'meaning' | 'both'
  signal: AbortSignal
}

export type FoundMessage = {
  message: MessageWithAgent
  text: string
  wordRank?: number
  vectorRank?: number
  score: number
}

const BATCH = 200
/** Messages that say nothing, calls among them, are passed over; where there is nothing else, this is the end. */
const MAX_BATCHES = 20
const ROLES = ['user', 'assistant', 'system']

/** What was said, the best first. Without a word, what was said last. */
export async function searchMessages(request: SearchMessagesRequest, context: ServiceContext): Promise<FoundMessage[]> {
  const { text, agentId, limit, by, signal, ...range } = request
  const { organizationId, embeddings } = context
  const parts = { store: context.deps.store, embeddings }
  // With words one look is enough: only what says them is found, and copies of one message are few.
  const batches = searchTerms(text).length > 0 ? 1 : MAX_BATCHES
  const found = new Map<string, FoundMessage>()
  for (let batch = 0; batch < batches && found.size < limit; batch++) {
    const query = { ...range, text, roles: ROLES, limit: BATCH, skip: batch * BATCH }
    const asked = {
      organizationId,
      query,
      wordsOnly: by === 'words',
      signal,
      ...defined({ agentId: agentId || undefined }),
    }
    const answer = await findMessages(asked, parts)
    const isPlaced = by === 'meaning' && answer.mode === 'words and meaning'
    const candidates = isPlaced ? nearestFirst(answer.found) : answer.found
    for (const { item, ...rank } of candidates) {
      const said = searchableText(item.body)
      if (said !== '' && !found.has(item.id)) found.set(item.id, { message: item, text: said, ...rank })
    }
    if (candidates.length < BATCH) break
  }
  return [...found.values()].slice(0, limit)
}

const nearestFirst = (found: RankedItem<MessageWithAgent>[]): RankedItem<MessageWithAgent>[] =>
  found.filter(({ vectorRank }) => vectorRank !== undefined).sort((one, other) => one.vectorRank! - other.vectorRank!)

export async function listAllMessages(
  page: ListPage & { conversationId?: ConversationId },
  { deps, organizationId }: ServiceContext,
): Promise<MessageWithAgent[]> {
  const found = await deps.store.messageSearch.list(organizationId, page)
  if (found) return found
  throw new Problem('not-found', `There is no message ${page.after ?? page.before} to go on from.`)
}

type MessageSearchRequest = {
  organizationId: OrganizationId
  /** Absent: among what all agents said. */
  agentId?: AgentId
  query: MessageSearchQuery
  /** Only what says one of the words. */
  wordsOnly?: boolean
  signal: AbortSignal
}

type MessageSearchDeps = { store: Pick<Store, 'messageSearch' | 'agents'>; embeddings: Embeddings }

export async function findMessages(
  question: MessageSearchRequest,
  parts: MessageSearchDeps,
): Promise<HybridSearchResult<MessageWithAgent>> {
  const { organizationId, agentId, query, wordsOnly, signal } = question
  const { messageSearch } = parts.store
  const { text, skip: _, ...range } = query
  const ways = {
    text,
    limit: query.limit,
    signal,
    byWords: (limit: number) => messageSearch.search(organizationId, agentId, { ...query, limit }),
    byMeaning: (meaning: QueryEmbedding, limit: number) =>
      messageSearch.vectors.nearest(organizationId, agentId, { ...range, ...meaning, limit }),
    keyOf: ({ id }: MessageWithAgent) => id,
  }
  const { embeddings } = parts
  const isPlaced = embeddings.messages && !wordsOnly
  return hybridSearch(ways, { target: isPlaced ? await findEmbeddingTarget(question, parts) : undefined, embeddings })
}
