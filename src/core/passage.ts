import type { AgentId, OrganizationId, PassageId } from './id.ts'

/** Something an agent put away to be found again by searching. */
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

/** The words of a question, for full-text search; nothing in them can be an operator. */
export const searchWords = (text: string): string[] => [
  ...new Set(
    text
      .toLowerCase()
      .match(/[\p{L}\p{N}_]+/gu)
      ?.slice(0, 32) ?? [],
  ),
]
