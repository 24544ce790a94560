import type { NewVector } from '../../ports/vector-store.ts'
import type { Database } from '../database/database.ts'
import type { Awaitable, Executor } from '../database/statement.ts'

/** All of them in one commit, which may be repeated: a vector is put where it was. */
export const saveVectors = (
  vectors: readonly NewVector[],
  keep: (db: Executor, vector: NewVector) => Awaitable<unknown>,
  write: Database['write'],
): Promise<void> =>
  write({
    key: vectors[0]?.agentId ?? '',
    async work(db) {
      for (const vector of vectors) await keep(db, vector)
    },
    findCommitted: () => undefined,
  })

export const toVectorColumns = (result: NewVector['result']) => ({
  vector: result.type === 'vector' ? encodeVector(result.vector) : null,
  refusal: result.type === 'refused' ? result.detail : null,
})

/** How many texts one question is compared with, the newest of them. */
const MAX_COMPARED = 20_000
/** Between two pages others get their turn (measured: 9 ms for 500 of 1,536 numbers). */
export const VECTOR_PAGE = 500

type VectorRow = { number: number; vector: string | null }

/** The numbers of the nearest, from pages of at most `VECTOR_PAGE` rows with falling numbers. */
export async function findNearest(
  query: { vector: readonly number[]; limit: number },
  pageBelow: (number: number) => Promise<VectorRow[]>,
  yieldToOthers: () => Promise<void>,
): Promise<number[]> {
  const target = Float32Array.from(query.vector)
  let best: { number: number; nearness: number }[] = []
  let below = Number.MAX_SAFE_INTEGER
  for (let compared = 0; compared < MAX_COMPARED; compared += VECTOR_PAGE) {
    const rows = await pageBelow(below)
    for (const { number, vector } of rows) best.push({ number, nearness: similarityOf(target, decodeVector(vector!)) })
    best = best.sort((one, other) => other.nearness - one.nearness).slice(0, query.limit)
    if (rows.length < VECTOR_PAGE) break
    below = rows.at(-1)!.number
    await yieldToOthers()
  }
  return best.map(({ number }) => number)
}

/** A byte for each number, relative to the largest: an angle needs no more, and a search reads a quarter. */
function encodeVector(vector: readonly number[]): string {
  let largest = 0
  for (const value of vector) largest = Math.max(largest, Math.abs(value))
  const scale = largest > 0 && Number.isFinite(largest) ? 127 / largest : 0
  return Buffer.from(Int8Array.from(vector, (value) => Math.round(value * scale)).buffer).toString('base64')
}

function decodeVector(text: string): Int8Array {
  const bytes = Buffer.from(text, 'base64')
  return new Int8Array(bytes.buffer, bytes.byteOffset, bytes.length)
}

/** The cosine, but for the length of the question, which is the same for all. */
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
