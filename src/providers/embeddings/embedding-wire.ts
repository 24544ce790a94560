import type { Dialect } from '../../core/message.ts'
import type { EmbedOptions } from '../../ports/embeddings.ts'
import type { Quirks } from '../wire/quirks.ts'

type Asked = { model: string; texts: readonly string[]; purpose: EmbedOptions['purpose'] }

/** How one language asks for vectors, and where they are in its answer. */
export type EmbeddingWire = {
  auth: NonNullable<Quirks['auth']>
  path(model: string): string
  body(asked: Asked): object
  /** In the order of the texts; undefined where the answer is none. */
  vectorsIn(answer: unknown): unknown[] | undefined
}

const OPENAI: EmbeddingWire = {
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

const GEMINI: EmbeddingWire = {
  auth: 'x-goog-api-key',
  path: (model) => `/v1beta/models/${encodeURIComponent(model)}:batchEmbedContents`,
  body: ({ model, texts, purpose }) => ({
    requests: texts.map((text) => ({
      ...{ model: `models/${model}`, content: { parts: [{ text }] } },
      taskType: purpose === 'question' ? 'RETRIEVAL_QUERY' : 'RETRIEVAL_DOCUMENT',
    })),
  }),
  vectorsIn(answer) {
    const all = fieldOf(answer, 'embeddings')
    return Array.isArray(all) ? all.map((item) => fieldOf(item, 'values')) : undefined
  },
}

/** Absent: the language has none. */
export const EMBEDDING_WIRES: Record<Dialect, EmbeddingWire | undefined> = {
  'openai-chat': OPENAI,
  'openai-responses': OPENAI,
  gemini: GEMINI,
  anthropic: undefined,
  'ai-sdk': undefined,
}

const fieldOf = (value: unknown, name: string): unknown =>
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
