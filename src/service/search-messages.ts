import type { AgentId, ConversationId } from '../core/id.ts'
import { Problem } from '../core/problem.ts'
import { saidIn, searchTerms } from '../core/search-terms.ts'
import type { ListPage, Recalled } from '../ports/memory-store.ts'
import type { Desk } from './desk.ts'

export type SearchMessages = {
  text: string
  agentId?: AgentId
  conversationId?: ConversationId
  from?: number
  to?: number
  limit: number
}

export type FoundMessage = Recalled & { text: string }

const BATCH = 200
/** Messages that say nothing, calls among them, are passed over; where there is nothing else, this is the end. */
const MOST_BATCHES = 20
const ROLES = ['user', 'assistant', 'system']

/** What was said, as the database ranks it and the newest first. Without a word, what was said last. */
export async function searchMessages(request: SearchMessages, desk: Desk): Promise<FoundMessage[]> {
  const { text, agentId, limit, ...range } = request
  const { recall } = desk.world.store
  // With words one look is enough: only what says them is found, and copies of one message are few.
  const batches = searchTerms(text).length > 0 ? 1 : MOST_BATCHES
  const found = new Map<string, FoundMessage>()
  for (let batch = 0; batch < batches && found.size < limit; batch++) {
    const page = { ...range, text, roles: ROLES, limit: BATCH, skip: batch * BATCH }
    const candidates = await recall.search(desk.organizationId, agentId, page)
    for (const message of candidates) {
      const said = saidIn(message.body)
      if (said !== '' && !found.has(message.id)) found.set(message.id, { ...message, text: said })
    }
    if (candidates.length < BATCH) break
  }
  return [...found.values()].slice(0, limit)
}

export async function listAllMessages(
  page: ListPage & { conversationId?: ConversationId },
  { world, organizationId }: Desk,
): Promise<Recalled[]> {
  const found = await world.store.recall.list(organizationId, page)
  if (found) return found
  throw new Problem('not-found', `There is no message ${page.after ?? page.before} to go on from.`)
}
