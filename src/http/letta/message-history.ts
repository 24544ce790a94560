import type { Conversation } from '../../core/agent.ts'
import { defined } from '../../core/defined.ts'
import type { ConversationId, MessageId } from '../../core/id.ts'
import type { MessagePage } from '../../ports/store.ts'
import { findConversation } from '../../service/conversations/conversations.ts'
import { promptOf } from '../../service/conversations/prompt.ts'
import { listMessages } from '../../service/messages/messages.ts'
import type { ServiceContext } from '../../service/service-context.ts'
import { type AssistantTool, assistantToolOf } from './assistant-tool.ts'
import { type MessageQuery, requirePosition, SYSTEM_POSITION } from './message-page.ts'
import { systemSlice, type WireMessage, wireMessages } from './wire/message.ts'

/**
 * The messages of an agent, always in chronological order: `order` and the cursors only choose which end of the history
 * is read.
 */
export async function listChronological(
  conversation: Conversation,
  query: MessageQuery,
  context: ServiceContext,
): Promise<WireMessage[]> {
  const after = await requirePosition(query.after, conversation.id, context)
  const before = await requirePosition(query.before, conversation.id, context)
  const isFromOldest = after !== undefined || (query.order === 'asc' && before === undefined)
  const page = { ...pageFrom({ after, before }, isFromOldest), limit: query.limit }
  return readPage(conversation, { page, speaking: assistantToolOf(query) }, context)
}

/** The messages of a conversation, newest first by default; the cursors follow the order of the list. */
export async function listNewestFirst(
  conversation: Conversation,
  query: MessageQuery,
  context: ServiceContext,
): Promise<WireMessage[]> {
  const next = await requirePosition(query.after, conversation.id, context)
  const previous = await requirePosition(query.before, conversation.id, context)
  const isAscending = query.order === 'asc'
  const [after, before] = isAscending ? [next, previous] : [previous, next]
  // With `before` alone, the page ends at the cursor, so it is read backwards from there.
  const isReadBackwards = previous !== undefined && next === undefined
  const page = { ...pageFrom({ after, before }, isAscending !== isReadBackwards), limit: query.limit }
  const messages = await readPage(conversation, { page, speaking: assistantToolOf(query) }, context)
  return isAscending ? messages : messages.reverse()
}

type Bounds = { after: number | undefined; before: number | undefined }

const pageFrom = ({ after, before }: Bounds, isFromOldest: boolean): Omit<MessagePage, 'limit'> => ({
  take: isFromOldest ? 'oldest' : 'newest',
  ...defined({ after, before }),
})

/** A page in chronological order. The system prompt is the first message of a conversation and counts toward the limit. */
async function readPage(
  conversation: Conversation,
  { page, speaking }: { page: MessagePage; speaking: AssistantTool | 'none' },
  context: ServiceContext,
): Promise<WireMessage[]> {
  const reachesStart = page.after === undefined && page.before !== SYSTEM_POSITION
  const startsWithPrompt = reachesStart && page.take === 'oldest'
  const stored = await listMessages(
    conversation.id,
    { ...page, limit: page.limit - (startsWithPrompt ? 1 : 0) },
    context,
  )
  const messages = wireMessages(stored, speaking)
  // A page of large messages ends before its limit.
  const isCut = page.take === 'newest' && (stored[0]?.position ?? 0) > 0
  if (!startsWithPrompt && (!reachesStart || isCut || stored.length >= page.limit)) return messages
  return [systemSlice(conversation, await promptOf(conversation.id, context)), ...messages]
}

/** The system prompt as a message. Its id is the conversation id with `message-` in place of `conv-`. */
export async function systemMessage(id: MessageId, context: ServiceContext): Promise<WireMessage | undefined> {
  const conversationId: ConversationId = `conv-${id.slice('message-'.length)}`
  const conversation = await findConversation(conversationId, context)
  return conversation && systemSlice(conversation, await promptOf(conversation.id, context))
}
