import type { EmbedOptions } from '../../ports/embeddings.ts'
import type { Quirks } from '../wire/quirks.ts'

type EmbeddingRequest = { model: string; texts: readonly string[]; purpose: EmbedOptions['purpose'] }

/** How one language asks for vectors, and where they are in its answer. */
export type EmbeddingWire = {
  auth: NonNullable<Quirks['auth']>
  path(model: string): string
  body(asked: EmbeddingRequest): object
  /** In the order of the texts; undefined where the answer is none. */
  vectorsIn(answer: unknown): unknown[] | undefined
}

export const fieldOf = (value: unknown, name: string): unknown =>
  value !== null && typeof value === 'object' ? (value as Record<string, unknown>)[name] : undefined

/** All of them, each a list of numbers, all of one length; undefined where anything is missing. */
export function readVectors(found: unknown[] | undefined, count: number): number[][] | undefined {
  if (found?.length !== count) return undefined
  const first = found[0]
  const length = Array.isArray(first) ? first.length : 0
  const isVector = (one: unknown): one is number[] =>
    Array.isArray(one) && one.length === length && one.every((value) => typeof value === 'number')
  return length > 0 && found.every(isVector) ? found : undefined
}
