import type { AgentId, OrganizationId, PassageId } from '../core/id.ts'
import type { Passage, PassageQuery } from '../core/passage.ts'
import type { ListPage, ListResult } from './list-page.ts'
import type { QueryEmbedding, VectorStore } from './vector-store.ts'

export type PassageStore = {
  /** The prompts of the agent's conversations are compiled anew: they say how much there is to find. */
  insert(passage: Passage): Promise<void>
  list(organizationId: OrganizationId, agentId: AgentId, page: ListPage & { text?: string }): ListResult<Passage>
  /** Best first; without an agent, among those of all. */
  search(organizationId: OrganizationId, agentId: AgentId | undefined, query: PassageQuery): Promise<Passage[]>
  delete(organizationId: OrganizationId, agentId: AgentId, id: PassageId): Promise<boolean>
  vectors: PassageVectors
}

export type PassageVectors = VectorStore & {
  /** Nearest first, of those that this model embedded; without an agent, among those of all. */
  nearest(
    organizationId: OrganizationId,
    agentId: AgentId | undefined,
    query: PassageQuery & QueryEmbedding,
  ): Promise<Passage[]>
}
