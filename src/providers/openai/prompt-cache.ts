import type { MessageBody } from '../../core/message.ts'
import type { Quirks } from '../wire/quirks.ts'
import { type ChatForm, chatMessages } from './chat-messages.ts'

/** Claude caches what a request marks; the other models behind an aggregator cache by themselves. */
export const usesCacheMarks = (model: string, { cacheMarks }: Quirks): boolean =>
  cacheMarks === 'claude' && /(^|\/)claude-/.test(model)

/** Plus one mark on the system prompt: the limit behind the aggregator is four. */
const MESSAGE_MARKS = 3
const MARK = { cache_control: { type: 'ephemeral' } }

export const markedPrompt = (text: string): string =>
  JSON.stringify({ role: 'system', content: [{ type: 'text', text, ...MARK }] })

/** The last messages that can carry a mark get one: each ended an earlier request, so its cache entry is hit again. */
export function markedHistory(messages: readonly MessageBody[], unmarked: ChatForm): string {
  const marked: ChatForm = { ...unmarked, caching: 'marked' }
  const texts = messages.map((body) => chatMessages.one(body, unmarked))
  let left = MESSAGE_MARKS
  for (let position = messages.length - 1; position >= 0 && left > 0; position--) {
    const text = chatMessages.one(messages[position]!, marked)
    if (text === texts[position]) continue
    texts[position] = text
    left--
  }
  return texts.filter((text) => text !== '').join(',')
}
