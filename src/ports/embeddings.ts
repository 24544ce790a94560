import type { Failure } from '../core/failure.ts'
import type { Target, TargetHandle } from '../core/target.ts'

export type EmbedResult = { type: 'vectors'; vectors: number[][] } | { type: 'failure'; failure: Failure }

export type EmbedOptions = {
  /** Some models embed what is looked for otherwise than what is kept. */
  purpose: 'question' | 'storage'
  signal: AbortSignal
}

/** Turns texts into vectors whose angles tell how near they are in meaning. A failure is a value. */
export type Embedder = {
  /** Whether anybody here could be asked for it. */
  serves(target: Target): boolean
  embed(target: Target, texts: readonly string[], options: EmbedOptions): Promise<EmbedResult>
  /** How long its vectors are, where that is known. */
  dimensionsOf(target: Target): number | undefined
}

export type Embeddings = {
  embedder: Embedder
  /** The model of agents that name none. */
  defaultModel?: TargetHandle
  /** Whether what was said is embedded too, and not only what agents keep. */
  messages: boolean
}
