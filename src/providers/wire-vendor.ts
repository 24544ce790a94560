import type { HttpDialect } from '../core/message.ts'
import type { ModelProvider } from '../ports/model.ts'
import { anthropicMessages } from './anthropic/messages.ts'
import { classify, classifyTransport } from './classify/classify.ts'
import { geminiGenerateContent } from './gemini/generate-content.ts'
import { openaiChat } from './openai/chat.ts'
import { openaiResponses } from './openai/responses.ts'
import type { WireDialect } from './wire/dialect.ts'
import { type WireOptions, wireProvider } from './wire/wire-provider.ts'

const DIALECTS: Record<HttpDialect, WireDialect> = {
  'openai-chat': openaiChat,
  'openai-responses': openaiResponses,
  anthropic: anthropicMessages,
  gemini: geminiGenerateContent,
}

export type WireVendor = Omit<WireOptions, 'dialect' | 'classify' | 'classifyTransport'> & {
  dialect: keyof typeof DIALECTS
}

/** A vendor by the name of its language. */
export const wireVendor = ({ dialect, ...vendor }: WireVendor): ModelProvider =>
  wireProvider({ ...vendor, dialect: DIALECTS[dialect], classify, classifyTransport })
