import type { Agent } from '../../core/agent.ts'
import { cleanText } from '../../core/block.ts'
import type { AgentId, OrganizationId, PassageId } from '../../core/id.ts'
import type { Passage, PassageQuery } from '../../core/passage.ts'
import { Problem } from '../../core/problem.ts'
import type { Embeddings } from '../../ports/embeddings.ts'
import type { ListPage } from '../../ports/list-page.ts'
import type { Store } from '../../ports/store.ts'
import type { Meaning } from '../../ports/vector-store.ts'
import type { Desk } from '../desk.ts'
import { type Found, findBothWays, targetFor } from '../search/find-both-ways.ts'

type NewPassage = { agent: Agent; text: string; tags?: string[]; createdAt?: number }

export async function insertPassage({ agent, text, tags = [], createdAt }: NewPassage, desk: Desk): Promise<Passage> {
  const { store, clock, randomness } = desk.world
  const content = cleanText(text)
  if (content.trim() === '') throw new Problem('invalid', 'A passage needs a text.')
  const passage: Passage = {
    id: `passage-${randomness.uuid()}`,
    organizationId: desk.organizationId,
    agentId: agent.id,
    text: content,
    tags: [...new Set(tags.map(cleanText))],
    createdAt: createdAt ?? clock.now(),
  }
  await store.passages.insert(passage)
  return passage
}

export async function listPassages(agent: Agent, page: ListPage & { text?: string }, desk: Desk): Promise<Passage[]> {
  const passages = await desk.world.store.passages.list(desk.organizationId, agent.id, page)
  if (passages) return passages
  throw new Problem('not-found', `There is no passage ${page.after ?? page.before} to go on from.`)
}

/** Without an agent, among the passages of all. */
export const searchPassages = (
  agent: Agent | undefined,
  { signal, ...query }: PassageQuery & { signal: AbortSignal },
  { world, embeddings, organizationId }: Desk,
): Promise<Found<Passage>> =>
  findPassages(
    { organizationId, query, signal, ...(agent ? { agentId: agent.id } : {}) },
    { store: world.store, embeddings },
  )

export async function deletePassage(agent: Agent, id: PassageId, desk: Desk): Promise<void> {
  if (!(await desk.world.store.passages.delete(desk.organizationId, agent.id, id)))
    throw new Problem('not-found', `There is no passage ${id} of agent ${agent.name}.`)
}

type PassageQuestion = {
  organizationId: OrganizationId
  /** Absent: among the passages of all. */
  agentId?: AgentId
  query: PassageQuery
  signal: AbortSignal
}

type Parts = { store: Pick<Store, 'passages' | 'agents'>; embeddings: Embeddings }

export async function findPassages(question: PassageQuestion, parts: Parts): Promise<Found<Passage>> {
  const { organizationId, agentId, query, signal } = question
  const { passages } = parts.store
  const ways = {
    text: query.text,
    limit: query.limit,
    signal,
    byWords: (limit: number) => passages.search(organizationId, agentId, { ...query, limit }),
    byMeaning: (meaning: Meaning, limit: number) =>
      passages.vectors.nearest(organizationId, agentId, { ...query, ...meaning, limit }),
    keyOf: ({ id }: Passage) => id,
  }
  return findBothWays(ways, { target: await targetFor(question, parts), embeddings: parts.embeddings })
}
