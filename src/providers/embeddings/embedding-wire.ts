import type { EmbedOptions } from '../../ports/embeddings.ts'
import type { Quirks } from '../wire/quirks.ts'

type EmbeddingRequest = { model: string; texts: readonly string[]; purpose: EmbedOptions['purpose'] }

/** How one dialect requests vectors, and where they are in the response. */
export type EmbeddingWire = {
  auth: NonNullable<Quirks['auth']>
  path(model: string): string
  body(request: EmbeddingRequest): object
  /** In the order of the texts; undefined if the response has no vectors. */
  vectorsIn(response: unknown): unknown[] | undefined
}

export const fieldOf = (value: unknown, name: string): unknown =>
  value !== null && typeof value === 'object' ? (value as Record<string, unknown>)[name] : undefined

/** The vectors, if they are `count` lists of numbers of equal length. */
export function readVectors(found: unknown[] | undefined, count: number): number[][] | undefined {
  if (found?.length !== count) return undefined
  const first = found[0]
  const length = Array.isArray(first) ? first.length : 0
  const isVector = (one: unknown): one is number[] =>
    Array.isArray(one) && one.length === length && one.every((value) => typeof value === 'number')
  return length > 0 && found.every(isVector) ? found : undefined
}
