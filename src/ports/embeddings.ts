import type { Failure } from '../core/failure.ts'
import type { Target, TargetHandle } from '../core/target.ts'

export type EmbedResult = { type: 'vectors'; vectors: number[][] } | { type: 'failure'; failure: Failure }

export type EmbedOptions = {
  /** Some models embed queries differently from stored texts. */
  purpose: 'question' | 'storage'
  signal: AbortSignal
}

/** Turns texts into vectors; the angle between two vectors measures how similar the texts are. Failures are values. */
export type Embedder = {
  /** Whether a configured provider serves this embedding model. */
  serves(target: Target): boolean
  embed(target: Target, texts: readonly string[], options: EmbedOptions): Promise<EmbedResult>
  /** Length of its vectors, if known. */
  dimensionsOf(target: Target): number | undefined
}

export type Embeddings = {
  embedder: Embedder
  /** Embedding model of agents that name none. */
  defaultModel?: TargetHandle
  /** Whether messages are embedded too, in addition to passages. */
  messages: boolean
}
