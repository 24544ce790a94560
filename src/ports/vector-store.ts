import type { AgentId, OrganizationId } from '../core/id.ts'

export type WaitingText = { number: number; organizationId: OrganizationId; agentId: AgentId; text: string }

export type NewVector = Pick<WaitingText, 'number' | 'agentId'> & {
  model: string
  result: { type: 'vector'; vector: number[] } | { type: 'refused'; detail: string }
}

/** What texts mean, as an embedding model tells. Follows them; never in a turn's transaction. */
export type VectorStore = {
  /** Texts of all organizations that have none yet, in the order they were made. */
  waiting(after: number, limit: number): Promise<WaitingText[]>
  keep(vectors: readonly NewVector[]): Promise<void>
  /** Which models the vectors of each agent come from. */
  models(): Promise<{ organizationId: OrganizationId; agentId: AgentId; model: string }[]>
  /** Their texts wait again. */
  drop(agentId: AgentId, model: string): Promise<void>
}

/** How a question is placed, and by whom. */
export type QueryEmbedding = { model: string; vector: readonly number[] }
