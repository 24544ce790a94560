import type { Json } from '../core/json.ts'
import type { Exchange } from './exchange.ts'
import type { HttpAnswer } from './play-answer.ts'

const DIMENSIONS = 256

/** Bag-of-words vectors: texts that share words are close, and the same text always gives the same vector. */
export function embedTexts({ received: { body, path } }: Exchange): HttpAnswer {
  const isGemini = path.endsWith(':batchEmbedContents')
  const texts = isGemini ? geminiTexts(body) : openaiTexts(body)
  if (texts.length === 0 || texts.includes('')) return NOTHING_TO_EMBED
  const vectors = texts.map(vectorOf)
  if (isGemini) return { status: 200, body: { embeddings: vectors.map((values) => ({ values })) } }
  const data = vectors.map((embedding, index) => ({ object: 'embedding', index, embedding }))
  const usage = { prompt_tokens: texts.length, total_tokens: texts.length }
  return { status: 200, body: { object: 'list', data, model: String(fieldOf(body, 'model') ?? ''), usage } }
}

const NOTHING_TO_EMBED: HttpAnswer = {
  status: 400,
  body: { error: { message: "'$.input' is invalid.", type: 'invalid_request_error', param: null, code: null } },
}

const fieldOf = (value: Json | undefined, name: string): Json | undefined =>
  value !== null && typeof value === 'object' && !Array.isArray(value) ? value[name] : undefined

function openaiTexts(body: Json): string[] {
  const input = fieldOf(body, 'input')
  return (Array.isArray(input) ? input : [input]).filter((text) => typeof text === 'string')
}

function geminiTexts(body: Json): string[] {
  const requests = fieldOf(body, 'requests')
  if (!Array.isArray(requests)) return []
  return requests.map((request) => {
    const parts = fieldOf(fieldOf(request, 'content'), 'parts')
    return Array.isArray(parts) ? String(fieldOf(parts[0], 'text') ?? '') : ''
  })
}

/** Synonyms share a vector, so that tests can tell semantic search from keyword search. */
const SYNONYMS: Record<string, string> = { car: 'automobile', boat: 'ship', happy: 'glad', kettle: 'teapot' }

function vectorOf(text: string): number[] {
  const vector = new Array<number>(DIMENSIONS).fill(0)
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []) {
    const hash = hashOf(SYNONYMS[word] ?? word)
    vector[hash % DIMENSIONS]! += hash & 0x1000 ? 1 : -1
  }
  const length = Math.hypot(...vector) || 1
  return vector.map((value) => Math.round((value / length) * 1e6) / 1e6)
}

/** FNV-1a. */
function hashOf(word: string): number {
  let hash = 0x811c9dc5
  for (const byte of Buffer.from(word)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0
  return hash
}
