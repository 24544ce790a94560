import { type EmbeddingWire, fieldOf } from '../embeddings/embedding-wire.ts'

export const geminiEmbeddings: EmbeddingWire = {
  auth: 'x-goog-api-key',
  path: (model) => `/v1beta/models/${encodeURIComponent(model)}:batchEmbedContents`,
  body: ({ model, texts, purpose }) => ({
    requests: texts.map((text) => ({
      model: `models/${model}`,
      content: { parts: [{ text }] },
      taskType: purpose === 'question' ? 'RETRIEVAL_QUERY' : 'RETRIEVAL_DOCUMENT',
    })),
  }),
  vectorsIn(answer) {
    const all = fieldOf(answer, 'embeddings')
    return Array.isArray(all) ? all.map((item) => fieldOf(item, 'values')) : undefined
  },
}
