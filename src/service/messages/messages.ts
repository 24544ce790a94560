import { defined } from '../../core/defined.ts'
import type { AgentId, ConversationId, MessageId, OrganizationId } from '../../core/id.ts'
import type { Message } from '../../core/message.ts'
import { Problem } from '../../core/problem.ts'
import { searchableText, searchTerms } from '../../core/search-terms.ts'
import type { Embeddings } from '../../ports/embeddings.ts'
import { type ListPage, PAGE_BYTES } from '../../ports/list-page.ts'
import type { MessageSearchQuery, MessageWithAgent } from '../../ports/message-search-store.ts'
import type { Shares } from '../../ports/shares.ts'
import type { MessagePage, Store } from '../../ports/store.ts'
import type { QueryEmbedding } from '../../ports/vector-store.ts'
import { findEmbeddingTarget, type HybridSearchResult, hybridSearch, type RankedItem } from '../search/hybrid-search.ts'
import type { ServiceContext } from '../service-context.ts'

export const listMessages = (
  conversationId: ConversationId,
  page: MessagePage,
  context: ServiceContext,
): Promise<Message[]> => context.deps.store.messages.list(context.organizationId, conversationId, page)

/** The first of these ids that exists: clients may know a message under an id derived from the stored one. */
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
  /** Falls back to words where no embedding model is configured. */
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
/** Messages without text (tool calls, say) are skipped; this bounds a search that finds nothing else. */
const MAX_BATCHES = 20
const ROLES = ['user', 'assistant', 'system']

/** Best match first. Without search terms: the newest messages. */
export async function searchMessages(request: SearchMessagesRequest, context: ServiceContext): Promise<FoundMessage[]> {
  const { text, agentId, limit, by, signal, ...range } = request
  const { organizationId, embeddings } = context
  const { store, shares } = context.deps
  const parts = { store, embeddings, ...defined({ shares }) }
  // With search terms one batch is enough: every match has text, and copies of one message are few.
  const batches = searchTerms(text).length > 0 ? 1 : MAX_BATCHES
  const found = new Map<string, FoundMessage>()
  let skip = 0
  let size = 0
  for (let batch = 0; batch < batches && found.size < limit && size < PAGE_BYTES; batch++) {
    const query = { ...range, text, roles: ROLES, limit: BATCH, skip }
    const search = {
      organizationId,
      query,
      wordsOnly: by === 'words',
      signal,
      ...defined({ agentId: agentId || undefined }),
    }
    const answer = await findMessages(search, parts)
    const byMeaningOnly = by === 'meaning' && answer.mode === 'words and meaning'
    const candidates = byMeaningOnly ? nearestFirst(answer.found) : answer.found
    for (const { item, ...rank } of candidates) {
      const text = searchableText(item.body)
      size += text.length
      if (text !== '' && !found.has(item.id)) found.set(item.id, { message: item, text, ...rank })
    }
    // A batch of large messages ends early.
    if (candidates.length === 0) break
    skip += candidates.length
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
  throw new Problem('not-found', `Unknown cursor "${page.after ?? page.before}". Use the id of a message in this list.`)
}

type MessageSearchRequest = {
  organizationId: OrganizationId
  /** Absent: among the messages of all agents. */
  agentId?: AgentId
  query: MessageSearchQuery
  /** Only messages that contain one of the words. */
  wordsOnly?: boolean
  signal: AbortSignal
}

type MessageSearchDeps = { store: Pick<Store, 'messageSearch' | 'agents'>; embeddings: Embeddings; shares?: Shares }

export async function findMessages(
  request: MessageSearchRequest,
  deps: MessageSearchDeps,
): Promise<HybridSearchResult<MessageWithAgent>> {
  const { organizationId, agentId, query, wordsOnly, signal } = request
  const { messageSearch } = deps.store
  const { text, skip: _, ...range } = query
  const search = {
    text,
    limit: query.limit,
    signal,
    byWords: (limit: number) => messageSearch.search(organizationId, agentId, { ...query, limit }),
    byMeaning: (meaning: QueryEmbedding, limit: number) =>
      messageSearch.vectors.nearest(organizationId, agentId, { ...range, ...meaning, limit }),
    keyOf: ({ id }: MessageWithAgent) => id,
  }
  const { embeddings } = deps
  const usesMeaning = embeddings.messages && !wordsOnly
  return hybridSearch(search, {
    target: usesMeaning ? await findEmbeddingTarget(request, deps) : undefined,
    embeddings,
    payer: { organizationId, shares: deps.shares },
  })
}
