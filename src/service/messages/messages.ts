import type { AgentId, ConversationId, MessageId, OrganizationId } from '../../core/id.ts'
import type { Message } from '../../core/message.ts'
import { Problem } from '../../core/problem.ts'
import { saidIn, searchTerms } from '../../core/search-terms.ts'
import type { Embeddings } from '../../ports/embeddings.ts'
import type { ListPage } from '../../ports/list-page.ts'
import type { Recalled, RecallQuery } from '../../ports/recall-store.ts'
import type { MessagePage, Store } from '../../ports/store.ts'
import type { Meaning } from '../../ports/vector-store.ts'
import type { Desk } from '../desk.ts'
import { type Found, findBothWays, type Ranked, targetFor } from '../search/find-both-ways.ts'

export const listMessages = (conversationId: ConversationId, page: MessagePage, desk: Desk): Promise<Message[]> =>
  desk.world.store.messages.list(desk.organizationId, conversationId, page)

/** By any of these ids, the first that exists: a message may be known to a client by another one. */
export async function findMessage(
  ids: readonly MessageId[],
  { world, organizationId }: Desk,
  conversationId?: ConversationId,
): Promise<Message | undefined> {
  for (const id of ids) {
    const message = await world.store.messages.get(organizationId, id, conversationId)
    if (message) return message
  }
  return undefined
}

type SearchMessages = {
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

export type FoundMessage = { message: Recalled; text: string; wordRank?: number; vectorRank?: number; score: number }

const BATCH = 200
/** Messages that say nothing, calls among them, are passed over; where there is nothing else, this is the end. */
const MOST_BATCHES = 20
const ROLES = ['user', 'assistant', 'system']

/** What was said, the best first. Without a word, what was said last. */
export async function searchMessages(request: SearchMessages, desk: Desk): Promise<FoundMessage[]> {
  const { text, agentId, limit, by, signal, ...range } = request
  const { organizationId, embeddings } = desk
  const parts = { store: desk.world.store, embeddings }
  // With words one look is enough: only what says them is found, and copies of one message are few.
  const batches = searchTerms(text).length > 0 ? 1 : MOST_BATCHES
  const found = new Map<string, FoundMessage>()
  for (let batch = 0; batch < batches && found.size < limit; batch++) {
    const query = { ...range, text, roles: ROLES, limit: BATCH, skip: batch * BATCH }
    const asked = { organizationId, query, byWordsAlone: by === 'words', signal, ...(agentId ? { agentId } : {}) }
    const answer = await findMessages(asked, parts)
    const isPlaced = by === 'meaning' && answer.mode === 'words and meaning'
    const candidates = isPlaced ? nearestFirst(answer.found) : answer.found
    for (const { item, ...rank } of candidates) {
      const said = saidIn(item.body)
      if (said !== '' && !found.has(item.id)) found.set(item.id, { message: item, text: said, ...rank })
    }
    if (candidates.length < BATCH) break
  }
  return [...found.values()].slice(0, limit)
}

const nearestFirst = (found: Ranked<Recalled>[]): Ranked<Recalled>[] =>
  found.filter(({ vectorRank }) => vectorRank !== undefined).sort((one, other) => one.vectorRank! - other.vectorRank!)

export async function listAllMessages(
  page: ListPage & { conversationId?: ConversationId },
  { world, organizationId }: Desk,
): Promise<Recalled[]> {
  const found = await world.store.recall.list(organizationId, page)
  if (found) return found
  throw new Problem('not-found', `There is no message ${page.after ?? page.before} to go on from.`)
}

type MessageQuestion = {
  organizationId: OrganizationId
  /** Absent: among what all agents said. */
  agentId?: AgentId
  query: RecallQuery
  /** Only what says one of the words. */
  byWordsAlone?: boolean
  signal: AbortSignal
}

type Parts = { store: Pick<Store, 'recall' | 'agents'>; embeddings: Embeddings }

export async function findMessages(question: MessageQuestion, parts: Parts): Promise<Found<Recalled>> {
  const { organizationId, agentId, query, byWordsAlone, signal } = question
  const { recall } = parts.store
  const { text, skip: _, ...range } = query
  const ways = {
    text,
    limit: query.limit,
    signal,
    byWords: (limit: number) => recall.search(organizationId, agentId, { ...query, limit }),
    byMeaning: (meaning: Meaning, limit: number) =>
      recall.vectors.nearest(organizationId, agentId, { ...range, ...meaning, limit }),
    keyOf: ({ id }: Recalled) => id,
  }
  const { embeddings } = parts
  const isPlaced = embeddings.messages && !byWordsAlone
  return findBothWays(ways, { target: isPlaced ? await targetFor(question, parts) : undefined, embeddings })
}
