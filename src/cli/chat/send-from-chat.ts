import { defined } from '../../core/defined.ts'
import type { SentText } from '../verbs.ts'
import type { ChatSession } from './chat-session.ts'

/** Sends a message to the conversation of this chat; while a turn runs, `--when-busy` says what becomes of it. */
export function sendFromChat(text: string, chat: ChatSession): Promise<SentText> {
  const { verbs, agent, conversation, effort, whenBusy } = chat
  return verbs.send({ agent, conversationId: conversation.id, text, ...defined({ reasoning: effort, whenBusy }) })
}
