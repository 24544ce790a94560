import { ANTHROPIC_VOICE } from './anthropic-voice.ts'
import { CHAT_VOICE } from './chat-voice.ts'
import { GEMINI_VOICE } from './gemini-voice.ts'
import { RESPONSES_VOICE } from './responses-voice.ts'
import type { ModelProtocol } from './script.ts'
import type { Voice } from './voice.ts'

export const VOICES: Record<ModelProtocol, Voice> = {
  'openai-chat': CHAT_VOICE,
  'openai-responses': RESPONSES_VOICE,
  anthropic: ANTHROPIC_VOICE,
  gemini: GEMINI_VOICE,
}
