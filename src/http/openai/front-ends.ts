import type { IncomingHttpHeaders } from 'node:http'
import { parseId } from '../../core/id.ts'
import { textOf } from '../../core/message.ts'
import type { SentMessage } from '../../core/openai/sent-message.ts'
import type { ConversationSource } from '../../service/openai/place-conversation.ts'

/** The headers that name a chat. The first one that a request has counts. */
const CHAT_HEADERS = [
  { header: 'x-holdfast-conversation', by: 'header', sendsHistory: false },
  { header: 'x-openwebui-chat-id', by: 'open-webui', sendsHistory: true },
  { header: 'x-librechat-conversation-id', by: 'librechat', sendsHistory: true },
] as const

/** What front ends send in place of a chat that has no id yet. */
const NO_CHAT = /^(?:|new|null|undefined|none|local:.*|\{\{.*\}\})$/i

/** The conversation that a header names: a chat of a front end, or one of ours by its id or a name. */
export function chatOf(headers: IncomingHttpHeaders): Extract<ConversationSource, { type: 'name' | 'id' }> | undefined {
  for (const { header, by, sendsHistory } of CHAT_HEADERS) {
    const value = headers[header]
    const name = typeof value === 'string' ? value.trim() : ''
    if (NO_CHAT.test(name)) continue
    const id = by === 'header' ? parseId('conv', name) : undefined
    return id ? { type: 'id', id } : { type: 'name', by, name, sendsHistory }
  }
  return undefined
}

/**
 * What front ends ask of the same model beside the conversation: titles, tags, follow-ups. The prompts are those of
 * Open WebUI (`config.py`) and of LibreChat (`title.ts`).
 */
const CHORES: { chore: string; begins: RegExp }[] = [
  { chore: 'title', begins: /^### Task:\s*Generate a concise, .*title/i },
  { chore: 'tags', begins: /^### Task:\s*Generate .*tags/i },
  { chore: 'follow-ups', begins: /^### Task:\s*Suggest .*follow-?up/i },
  { chore: 'title', begins: /^(?:Please generate|Provide) a concise, 5-word-or-less title for the conversation/i },
  { chore: 'title', begins: /^Write a concise title for this conversation/i },
  // A prompt with this heading asks for the answer itself, with sources.
  { chore: 'task', begins: /^### Task:\s*(?!Respond to the user query)/i },
]

/** Inside a chat a person may write such a heading too; prompts of front ends quote the chat. */
const QUOTES_CHAT = /<chat_history>|5-word-or-less title/

/** The name of the chore that a request is; undefined for one of a person. */
export function choreOf(messages: readonly SentMessage[], { isInChat }: { isInChat: boolean }): string | undefined {
  const said = messages.filter(({ role }) => role !== 'instruction')
  const [only, ...more] = said
  if (only?.role !== 'user' || more.length > 0) return undefined
  const text = textOf(only.content).trimStart()
  if (isInChat && !QUOTES_CHAT.test(text)) return undefined
  return CHORES.find(({ begins }) => begins.test(text))?.chore
}
