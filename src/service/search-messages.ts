import type { AgentId, ConversationId } from '../core/id.ts'
import { Problem } from '../core/problem.ts'
import { saidIn, searchTerms } from '../core/search-terms.ts'
import type { ListPage, Recalled } from '../ports/memory-store.ts'
import type { Desk } from './desk.ts'
import type { Ranked } from './find-both-ways.ts'
import { findMessages } from './find-messages.ts'

export type SearchMessages = {
  text: string
  agentId?: AgentId
  conversationId?: ConversationId
  from?: number
  to?: number
  limit: number
  /** By meaning only where somebody places what was said; otherwise by its words. */
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
