import type { AgentId, OrganizationId } from '../core/id.ts'
import type { Passage, PassageQuery } from '../core/passage.ts'
import type { Embeddings } from '../ports/embeddings.ts'
import type { Meaning } from '../ports/memory-store.ts'
import type { Store } from '../ports/store.ts'
import { type Found, findBothWays, targetFor } from './find-both-ways.ts'

export type PassageQuestion = {
  organizationId: OrganizationId
  /** Absent: among the passages of all. */
  agentId?: AgentId
  query: PassageQuery
  signal: AbortSignal
}

type Parts = { store: Pick<Store, 'passages' | 'agents'>; embeddings: Embeddings | undefined }

export async function findPassages(question: PassageQuestion, parts: Parts): Promise<Found<Passage>> {
  const { organizationId, agentId, query, signal } = question
  const { passages } = parts.store
  const ways = {
    ...{ text: query.text, limit: query.limit, signal },
    byWords: (limit: number) => passages.search(organizationId, agentId, { ...query, limit }),
    byMeaning: (meaning: Meaning, limit: number) =>
      passages.vectors.nearest(organizationId, agentId, { ...query, ...meaning, limit }),
    keyOf: ({ id }: Passage) => id,
  }
  return findBothWays(ways, { target: await targetFor(question, parts), embeddings: parts.embeddings })
}
