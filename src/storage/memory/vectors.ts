import type { NewVector } from '../../ports/vector-store.ts'
import type { Database } from '../database/database.ts'
import type { Awaitable, Executor } from '../database/statement.ts'

/** Stores all vectors in one commit. Safe to repeat: a vector replaces the stored one. */
export const saveVectors = (
  vectors: readonly NewVector[],
  save: (db: Executor, vector: NewVector) => Awaitable<unknown>,
  write: Database['write'],
): Promise<void> =>
  write({
    key: vectors[0]?.agentId ?? '',
    async work(db) {
      for (const vector of vectors) await save(db, vector)
    },
    findCommitted: () => undefined,
  })

export const toVectorColumns = (result: NewVector['result']) => ({
  vector: result.type === 'vector' ? encodeVector(result.vector) : null,
  refusal: result.type === 'refused' ? result.detail : null,
})

/** Maximum number of texts that a query is compared with, newest first. */
const MAX_COMPARED = 20_000
/** Other tasks run between pages, which take 9 ms each (measured with 1,536 dimensions). */
export const VECTOR_PAGE = 500

type VectorRow = { number: number; vector: string | null }

/** Numbers of the nearest rows, nearest first. `pageBelow` returns up to `VECTOR_PAGE` rows, highest number first. */
export async function findNearest(
  query: { vector: readonly number[]; limit: number },
  pageBelow: (number: number) => Promise<VectorRow[]>,
  yieldToOthers: () => Promise<void>,
): Promise<number[]> {
  const target = Float32Array.from(query.vector)
  let best: { number: number; similarity: number }[] = []
  let below = Number.MAX_SAFE_INTEGER
  for (let compared = 0; compared < MAX_COMPARED; compared += VECTOR_PAGE) {
    const rows = await pageBelow(below)
    for (const { number, vector } of rows)
      best.push({ number, similarity: similarityOf(target, decodeVector(vector!)) })
    best = best.sort((one, other) => other.similarity - one.similarity).slice(0, query.limit)
    if (rows.length < VECTOR_PAGE) break
    below = rows.at(-1)!.number
    await yieldToOthers()
  }
  return best.map(({ number }) => number)
}

/** One byte per dimension, scaled to the largest value: precise enough for cosine similarity, a quarter of the size. */
function encodeVector(vector: readonly number[]): string {
  let largest = 0
  for (const value of vector) largest = Math.max(largest, Math.abs(value))
  const scale = largest > 0 && Number.isFinite(largest) ? 127 / largest : 0
  return Buffer.from(Int8Array.from(vector, (value) => Math.round(value * scale)).buffer).toString('base64')
}

export function decodeVector(text: string): Int8Array {
  const bytes = Buffer.from(text, 'base64')
  return new Int8Array(bytes.buffer, bytes.byteOffset, bytes.length)
}

/** Cosine similarity, not divided by the length of the query vector, which is the same for all rows. */
function similarityOf(target: Float32Array, vector: Int8Array): number {
  if (target.length !== vector.length) return -Infinity
  let product = 0
  let square = 0
  for (let index = 0; index < vector.length; index++) {
    const value = vector[index]!
    product += target[index]! * value
    square += value * value
  }
  return square === 0 ? 0 : product / Math.sqrt(square)
}
