import { anthropic } from './anthropic.ts'
import type { SimulatedDialect } from './dialect.ts'
import { gemini } from './gemini.ts'
import { openaiChat } from './openai-chat.ts'
import { openaiResponses } from './openai-responses.ts'
import type { ModelProtocol } from './script.ts'

export const SIMULATED_DIALECTS: Record<ModelProtocol, SimulatedDialect> = {
  'openai-chat': openaiChat,
  'openai-responses': openaiResponses,
  anthropic,
  gemini,
}
