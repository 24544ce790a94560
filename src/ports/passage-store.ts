import type { AgentId, OrganizationId, PassageId } from '../core/id.ts'
import type { Passage, PassageQuery } from '../core/passage.ts'
import type { ListPage, ListResult } from './list-page.ts'
import type { QueryEmbedding, VectorStore } from './vector-store.ts'

export type PassageStore = {
  /** Also invalidates the prompts of the agent's conversations, which state how many passages exist. */
  insert(passage: Passage): Promise<void>
  list(organizationId: OrganizationId, agentId: AgentId, page: ListPage & { text?: string }): ListResult<Passage>
  /** Best match first. Without an agent, searches all agents of the organization. */
  search(organizationId: OrganizationId, agentId: AgentId | undefined, query: PassageQuery): Promise<Passage[]>
  delete(organizationId: OrganizationId, agentId: AgentId, id: PassageId): Promise<boolean>
  /** The stored vectors of these passages, one small whole number for each dimension. */
  vectorsOf(ids: readonly PassageId[]): Promise<Map<PassageId, PassageVector>>
  vectors: PassageVectors
}

export type PassageVector = { model: string; values: number[] }

export type PassageVectors = VectorStore & {
  /**
   * Nearest first, among passages embedded by this model. Without an agent, searches all agents of the organization.
   */
  nearest(
    organizationId: OrganizationId,
    agentId: AgentId | undefined,
    query: PassageQuery & QueryEmbedding,
  ): Promise<Passage[]>
}
