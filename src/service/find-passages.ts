import type { Agent } from '../core/agent.ts'
import type { AgentId, OrganizationId } from '../core/id.ts'
import type { Passage, PassageQuery } from '../core/passage.ts'
import { fuseRankings, searchTerms } from '../core/search-terms.ts'
import { handleOf, parseTarget, type Target } from '../core/target.ts'
import type { Embeddings } from '../ports/embeddings.ts'
import type { Store } from '../ports/store.ts'

export type FoundPassage = { passage: Passage; wordRank?: number; vectorRank?: number; score: number }

export type FoundPassages = {
  found: FoundPassage[]
  mode: 'words' | 'words and meaning'
  /** Why meaning was not looked at although a model is configured for it. */
  fallback?: string
}

export type PassageQuestion = {
  organizationId: OrganizationId
  /** Absent: among the passages of all. */
  agentId?: AgentId
  query: PassageQuery
  signal: AbortSignal
}

type Parts = { store: Pick<Store, 'passages' | 'agents'>; embeddings?: Embeddings | undefined }

/** What each ranking contributes; with fewer, what is good in both would be missed. */
const LEAST_CANDIDATES = 50

/** By words, and by meaning where a model is configured that answers; never refused because of that model. */
export async function findPassages(question: PassageQuestion, parts: Parts): Promise<FoundPassages> {
  const { organizationId, agentId, query } = question
  const { store } = parts
  const target = searchTerms(query.text).length > 0 ? await targetFor(question, parts) : undefined
  if (!target) return { found: ranked([await store.passages.search(organizationId, agentId, query)]), mode: 'words' }
  const limit = Math.max(query.limit, LEAST_CANDIDATES)
  const [words, meaning] = await Promise.all([
    store.passages.search(organizationId, agentId, { ...query, limit }),
    byMeaning({ ...question, query: { ...query, limit } }, { ...parts, target }),
  ])
  if (meaning.type === 'failed')
    return { found: ranked([words]).slice(0, query.limit), mode: 'words', fallback: meaning.detail }
  return { found: ranked([words, meaning.passages]).slice(0, query.limit), mode: 'words and meaning' }
}

type Meant = { type: 'found'; passages: Passage[] } | { type: 'failed'; detail: string }

async function byMeaning(question: PassageQuestion, parts: Parts & { target: Target }): Promise<Meant> {
  const { organizationId, agentId, query, signal } = question
  const { store, embeddings, target } = parts
  const answer = await embeddings!.embedder.embed(target, [query.text], { purpose: 'question', signal })
  const model = handleOf(target)
  if (answer.type === 'failure') {
    const { kind, detail } = answer.failure
    return { type: 'failed', detail: `${model} did not answer (${kind}): ${detail}` }
  }
  const asked = { ...query, model, vector: answer.vectors[0]! }
  return { type: 'found', passages: await store.passages.vectors.nearest(organizationId, agentId, asked) }
}

async function targetFor(
  { organizationId, agentId }: PassageQuestion,
  { store, embeddings }: Parts,
): Promise<Target | undefined> {
  if (!embeddings) return undefined
  const agent = agentId && (await store.agents.get(organizationId, agentId))
  return embeddingOf(agent, embeddings)
}

/** The model that embeds what this agent keeps; undefined where nobody could be asked. */
export function embeddingOf(agent: Agent | undefined, { embedder, usual }: Embeddings): Target | undefined {
  const own = agent?.settings?.wire?.embedding
  const wishes = [own, usual].flatMap((handle) => (typeof handle === 'string' ? (parseTarget(handle) ?? []) : []))
  return wishes.find((target) => embedder.serves(target))
}

const ranked = (rankings: Passage[][]): FoundPassage[] =>
  fuseRankings(rankings, ({ id }) => id).map(({ item, ranks: [wordRank, vectorRank], score }) => ({
    ...{ passage: item, score },
    ...(wordRank === undefined ? {} : { wordRank }),
    ...(vectorRank === undefined ? {} : { vectorRank }),
  }))
