import { type EmbeddingWire, fieldOf } from '../embeddings/embedding-wire.ts'

/** The same beside both languages of OpenAI. */
export const openaiEmbeddings: EmbeddingWire = {
  auth: 'bearer',
  path: () => '/embeddings',
  body: ({ model, texts }) => ({ model, input: texts, encoding_format: 'float' }),
  vectorsIn(answer) {
    const data = fieldOf(answer, 'data')
    if (!Array.isArray(data)) return undefined
    // The order is stated, and not every server keeps it.
    const placed = data.map((item, index) => ({
      vector: fieldOf(item, 'embedding'),
      at: fieldOf(item, 'index') ?? index,
    }))
    return placed.sort((one, other) => Number(one.at) - Number(other.at)).map(({ vector }) => vector)
  },
}
