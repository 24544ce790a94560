import type { AgentId, OrganizationId, PassageId } from './id.ts'

/** A text that an agent stored in archival memory, to find it by search. */
export type Passage = {
  id: PassageId
  organizationId: OrganizationId
  agentId: AgentId
  text: string
  tags: string[]
  createdAt: number
}

export type PassageQuery = {
  text: string
  tags?: string[]
  tagMatch?: 'any' | 'all'
  from?: number
  to?: number
  limit: number
}

/** The words of a query for full-text search, without search operators. */
export const searchWords = (text: string): string[] => [
  ...new Set(
    text
      .toLowerCase()
      .match(/[\p{L}\p{N}_]+/gu)
      ?.slice(0, 32) ?? [],
  ),
]
