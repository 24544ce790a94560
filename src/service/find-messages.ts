import type { AgentId, OrganizationId } from '../core/id.ts'
import type { Embeddings } from '../ports/embeddings.ts'
import type { Meaning, Recalled, RecallQuery } from '../ports/memory-store.ts'
import type { Store } from '../ports/store.ts'
import { type Found, findBothWays, targetFor } from './find-both-ways.ts'

export type MessageQuestion = {
  organizationId: OrganizationId
  /** Absent: among what all agents said. */
  agentId?: AgentId
  query: RecallQuery
  /** Only what says one of the words. */
  byWordsAlone?: boolean
  signal: AbortSignal
}

type Parts = { store: Pick<Store, 'recall' | 'agents'>; embeddings: Embeddings | undefined }

export async function findMessages(question: MessageQuestion, parts: Parts): Promise<Found<Recalled>> {
  const { organizationId, agentId, query, byWordsAlone, signal } = question
  const { recall } = parts.store
  const { text, skip: _, ...range } = query
  const ways = {
    ...{ text, limit: query.limit, signal },
    byWords: (limit: number) => recall.search(organizationId, agentId, { ...query, limit }),
    byMeaning: (meaning: Meaning, limit: number) =>
      recall.vectors.nearest(organizationId, agentId, { ...range, ...meaning, limit }),
    keyOf: ({ id }: Recalled) => id,
  }
  const { embeddings } = parts
  const isPlaced = embeddings?.messages === true && !byWordsAlone
  return findBothWays(ways, { target: isPlaced ? await targetFor(question, parts) : undefined, embeddings })
}
