import { type EmbeddingWire, fieldOf } from '../embeddings/embedding-wire.ts'

/** Shared by both dialects of OpenAI. */
export const openaiEmbeddings: EmbeddingWire = {
  auth: 'bearer',
  path: () => '/embeddings',
  body: ({ model, texts }) => ({ model, input: texts, encoding_format: 'float' }),
  vectorsIn(answer) {
    const data = fieldOf(answer, 'data')
    if (!Array.isArray(data)) return undefined
    // Not every server returns the vectors in order, so the stated index decides.
    const placed = data.map((item, index) => ({
      vector: fieldOf(item, 'embedding'),
      at: fieldOf(item, 'index') ?? index,
    }))
    return placed.sort((one, other) => Number(one.at) - Number(other.at)).map(({ vector }) => vector)
  },
}
