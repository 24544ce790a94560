import type { Agent } from '../../core/agent.ts'
import { cleanText } from '../../core/block.ts'
import { defined } from '../../core/defined.ts'
import type { AgentId, OrganizationId, PassageId } from '../../core/id.ts'
import type { Passage, PassageQuery } from '../../core/passage.ts'
import { Problem } from '../../core/problem.ts'
import type { Embeddings } from '../../ports/embeddings.ts'
import type { ListPage } from '../../ports/list-page.ts'
import type { Shares } from '../../ports/shares.ts'
import type { Store } from '../../ports/store.ts'
import type { QueryEmbedding } from '../../ports/vector-store.ts'
import { requireRoomFor } from '../people/storage-quota.ts'
import { findEmbeddingTarget, type HybridSearchResult, hybridSearch } from '../search/hybrid-search.ts'
import type { ServiceContext } from '../service-context.ts'

type NewPassage = { agent: Agent; text: string; tags?: string[]; createdAt?: number }

export async function insertPassage(
  { agent, text, tags = [], createdAt }: NewPassage,
  context: ServiceContext,
): Promise<Passage> {
  const { store, clock, randomness } = context.deps
  const content = cleanText(text)
  if (content.trim() === '') throw new Problem('invalid', 'A passage needs text.')
  await requireRoomFor(content, context)
  const passage: Passage = {
    id: `passage-${randomness.uuid()}`,
    organizationId: context.organizationId,
    agentId: agent.id,
    text: content,
    tags: [...new Set(tags.map(cleanText))],
    createdAt: createdAt ?? clock.now(),
  }
  await store.passages.insert(passage)
  return passage
}

export async function listPassages(
  agent: Agent,
  page: ListPage & { text?: string },
  context: ServiceContext,
): Promise<Passage[]> {
  const passages = await context.deps.store.passages.list(context.organizationId, agent.id, page)
  if (passages) return passages
  throw new Problem('not-found', `Unknown cursor "${page.after ?? page.before}". Use the id of a passage in this list.`)
}

/** Without an agent: among the passages of all agents. */
export const searchPassages = (
  agent: Agent | undefined,
  { signal, ...query }: PassageQuery & { signal: AbortSignal },
  { deps, embeddings, organizationId }: ServiceContext,
): Promise<HybridSearchResult<Passage>> =>
  findPassages(
    { organizationId, query, signal, ...defined({ agentId: agent ? agent.id : undefined }) },
    { store: deps.store, embeddings, ...defined({ shares: deps.shares }) },
  )

export async function deletePassage(agent: Agent, id: PassageId, context: ServiceContext): Promise<void> {
  if (!(await context.deps.store.passages.delete(context.organizationId, agent.id, id)))
    throw new Problem('not-found', `Agent ${agent.name} has no passage ${id}.`)
}

type PassageSearchRequest = {
  organizationId: OrganizationId
  /** Absent: among the passages of all agents. */
  agentId?: AgentId
  query: PassageQuery
  signal: AbortSignal
}

type PassageSearchDeps = { store: Pick<Store, 'passages' | 'agents'>; embeddings: Embeddings; shares?: Shares }

export async function findPassages(
  request: PassageSearchRequest,
  deps: PassageSearchDeps,
): Promise<HybridSearchResult<Passage>> {
  const { organizationId, agentId, query, signal } = request
  const { passages } = deps.store
  const search = {
    text: query.text,
    limit: query.limit,
    signal,
    byWords: (limit: number) => passages.search(organizationId, agentId, { ...query, limit }),
    byMeaning: (meaning: QueryEmbedding, limit: number) =>
      passages.vectors.nearest(organizationId, agentId, { ...query, ...meaning, limit }),
    keyOf: ({ id }: Passage) => id,
  }
  return hybridSearch(search, {
    target: await findEmbeddingTarget(request, deps),
    embeddings: deps.embeddings,
    payer: { organizationId, shares: deps.shares },
  })
}
