import type { HttpDialect } from '../core/message.ts'
import type { RequestAdjustments } from '../core/request-adjustments.ts'
import type { ModelFacts } from '../ports/model.ts'
import { anthropicFacts } from './anthropic/model-facts.ts'
import { geminiFacts } from './gemini/model-generation.ts'
import type { EmbeddingDialect, WireDialect } from './wire/dialect.ts'

/** A dialect before it is loaded: a process lists every dialect and uses only a few of them. */
type DialectEntry = EmbeddingEntry | { embeds: false; load(): Promise<WireDialect>; factsOf?: LookupModelFacts }
export type EmbeddingEntry = { embeds: true; load(): Promise<EmbeddingDialect>; factsOf?: LookupModelFacts }
/** Facts about the vendor's own models; without it the general table in `model-facts.ts` applies. */
type LookupModelFacts = (model: string, adjustments?: RequestAdjustments) => ModelFacts

export const WIRE_DIALECTS: Record<HttpDialect, DialectEntry> = {
  'openai-chat': {
    embeds: true,
    load: async () => (await import('./openai/chat.ts')).openaiChat,
  },
  'openai-responses': {
    embeds: true,
    load: async () => (await import('./openai/responses.ts')).openaiResponses,
  },
  anthropic: {
    embeds: false,
    load: async () => (await import('./anthropic/messages.ts')).anthropicMessages,
    factsOf: anthropicFacts,
  },
  gemini: {
    embeds: true,
    load: async () => (await import('./gemini/generate-content.ts')).geminiGenerateContent,
    factsOf: geminiFacts,
  },
}
