import type { Agent } from '../../core/agent.ts'
import { defined } from '../../core/defined.ts'
import type { AgentId, OrganizationId } from '../../core/id.ts'
import { fuseRankings, searchTerms } from '../../core/search-terms.ts'
import { handleOf, parseTarget, type Target } from '../../core/target.ts'
import type { Embeddings } from '../../ports/embeddings.ts'
import type { Store } from '../../ports/store.ts'
import type { QueryEmbedding } from '../../ports/vector-store.ts'
import { type EmbeddingPayer, embedWithinShare } from './embed-within-share.ts'

export type RankedItem<T> = { item: T; wordRank?: number; vectorRank?: number; score: number }

export type HybridSearchResult<T> = {
  found: RankedItem<T>[]
  mode: 'words' | 'words and meaning'
  /** Why the vector search was skipped although an embedding model is configured. */
  fallback?: string
}

type HybridQuery<T> = {
  text: string
  limit: number
  signal: AbortSignal
  byWords(limit: number): Promise<T[]>
  byMeaning(meaning: QueryEmbedding, limit: number): Promise<T[]>
  keyOf(item: T): string
}

/** The number of items of each ranking; with fewer, items that are good in both would be missed. */
const MIN_CANDIDATES = 50

/** Combines keyword and vector search. A failure of the embedding model falls back to keywords only. */
export async function hybridSearch<T>(
  query: HybridQuery<T>,
  { target, embeddings, payer }: { target: Target | undefined; embeddings: Embeddings; payer: EmbeddingPayer },
): Promise<HybridSearchResult<T>> {
  const { text, limit, byWords, keyOf } = query
  if (!target || searchTerms(text).length === 0)
    return { found: rankItems([await byWords(limit)], keyOf), mode: 'words' }
  const candidates = Math.max(limit, MIN_CANDIDATES)
  const [words, meaning] = await Promise.all([
    byWords(candidates),
    searchByMeaning({ ...query, limit: candidates }, { target, payer }, embeddings),
  ])
  if (meaning.type === 'failed')
    return { found: rankItems([words], keyOf).slice(0, limit), mode: 'words', fallback: meaning.detail }
  return { found: rankItems([words, meaning.items], keyOf).slice(0, limit), mode: 'words and meaning' }
}

type MeaningSearchResult<T> = { type: 'found'; items: T[] } | { type: 'failed'; detail: string }

async function searchByMeaning<T>(
  { text, limit, signal, byMeaning }: HybridQuery<T>,
  { target, payer }: { target: Target; payer: EmbeddingPayer },
  embeddings: Embeddings,
): Promise<MeaningSearchResult<T>> {
  const asked = { target, texts: [text], payer }
  const answer = await embedWithinShare(asked, { purpose: 'question', signal }, embeddings)
  const model = handleOf(target)
  if (answer.type === 'failure') {
    const { kind, detail } = answer.failure
    return { type: 'failed', detail: `${model} did not answer (${kind}): ${detail}` }
  }
  return { type: 'found', items: await byMeaning({ model, vector: answer.vectors[0]! }, limit) }
}

const rankItems = <T>(rankings: T[][], keyOf: (item: T) => string): RankedItem<T>[] =>
  fuseRankings(rankings, keyOf).map(({ item, ranks: [wordRank, vectorRank], score }) => ({
    item,
    score,
    ...defined({ wordRank, vectorRank }),
  }))

type SearchScope = { organizationId: OrganizationId; agentId?: AgentId }

/** The embedding model for a search among the texts of this agent, or of all agents. */
export async function findEmbeddingTarget(
  { organizationId, agentId }: SearchScope,
  { store, embeddings }: { store: Pick<Store, 'agents'>; embeddings: Embeddings },
): Promise<Target | undefined> {
  const agent = agentId && (await store.agents.get(organizationId, agentId))
  return embeddingTargetOf(agent, embeddings)
}

/** The embedding model of this agent, else the default; undefined if no provider serves it. */
export function embeddingTargetOf(
  agent: Agent | undefined,
  { embedder, defaultModel }: Embeddings,
): Target | undefined {
  const own = agent?.settings?.wire?.embedding
  const candidates = [own, defaultModel].flatMap((handle) =>
    typeof handle === 'string' ? (parseTarget(handle) ?? []) : [],
  )
  return candidates.find((target) => embedder.serves(target))
}
