import type { AgentId, OrganizationId } from '../core/id.ts'

export type WaitingText = { number: number; organizationId: OrganizationId; agentId: AgentId; text: string }

export type NewVector = Pick<WaitingText, 'number' | 'agentId'> & {
  model: string
  result: { type: 'vector'; vector: number[] } | { type: 'refused'; detail: string }
}

/**
 * Longer texts are cut: models accept about 8,000 tokens, and the beginning says what a text is about. Stores return no
 * more of a long passage.
 */
export const EMBEDDED_CHARACTERS = 16_000

/** Vectors of texts from an embedding model. Written in the background, never in a turn's transaction. */
export type VectorStore = {
  /** Texts without a vector, of all organizations, in order of creation. A page of large texts ends early. */
  waiting(after: number, limit: number): Promise<WaitingText[]>
  keep(vectors: readonly NewVector[]): Promise<void>
  /** Which models produced the vectors of each agent. */
  models(): Promise<{ organizationId: OrganizationId; agentId: AgentId; model: string }[]>
  /** Deletes these vectors; their texts are embedded again. */
  drop(agentId: AgentId, model: string): Promise<void>
}

/** A query vector and the model that produced it. */
export type QueryEmbedding = { model: string; vector: readonly number[] }
