import type { Conversation } from '../../core/agent.ts'
import type { ConversationId, MessageId } from '../../core/id.ts'
import type { MessagePage } from '../../ports/store.ts'
import { findConversation } from '../../service/conversations/conversations.ts'
import { promptOf } from '../../service/conversations/prompt.ts'
import type { Desk } from '../../service/desk.ts'
import { listMessages } from '../../service/messages/messages.ts'
import { type MessageQuery, positionOf, SYSTEM_POSITION } from './message-page.ts'
import { systemSlice, type WireMessage, wireMessages } from './wire/message.ts'

/**
 * The messages of an agent: always in the order of time; the order asked for only says which end of it is taken, and so
 * does a cursor.
 */
export async function chronological(
  conversation: Conversation,
  query: MessageQuery,
  desk: Desk,
): Promise<WireMessage[]> {
  const after = await positionOf(query.after, conversation.id, desk)
  const before = await positionOf(query.before, conversation.id, desk)
  const isFromOldest = after !== undefined || (query.order === 'asc' && before === undefined)
  return between(conversation, { ...pageFrom({ after, before }, isFromOldest), limit: query.limit }, desk)
}

/** The messages of a conversation: newest first unless the other way is asked for, and cursors go along with that. */
export async function newestFirst(conversation: Conversation, query: MessageQuery, desk: Desk): Promise<WireMessage[]> {
  const next = await positionOf(query.after, conversation.id, desk)
  const previous = await positionOf(query.before, conversation.id, desk)
  const isAscending = query.order === 'asc'
  const [after, before] = isAscending ? [next, previous] : [previous, next]
  // What is wanted is next to the cursor that was given: with `before` alone, the end of the page is.
  const isReadBackwards = previous !== undefined && next === undefined
  const page = { ...pageFrom({ after, before }, isAscending !== isReadBackwards), limit: query.limit }
  const messages = await between(conversation, page, desk)
  return isAscending ? messages : messages.reverse()
}

type Bounds = { after: number | undefined; before: number | undefined }

const pageFrom = ({ after, before }: Bounds, isFromOldest: boolean): Omit<MessagePage, 'limit'> => ({
  take: isFromOldest ? 'oldest' : 'newest',
  ...(after === undefined ? {} : { after }),
  ...(before === undefined ? {} : { before }),
})

/** A page in the order of time. What the model is told first stands before all the rest and counts as one of them. */
async function between(conversation: Conversation, page: MessagePage, desk: Desk): Promise<WireMessage[]> {
  const reachesStart = page.after === undefined && page.before !== SYSTEM_POSITION
  const isTakenFirst = reachesStart && page.take === 'oldest'
  const stored = await listMessages(conversation.id, { ...page, limit: page.limit - (isTakenFirst ? 1 : 0) }, desk)
  const messages = wireMessages(stored)
  if (!isTakenFirst && (!reachesStart || stored.length >= page.limit)) return messages
  return [systemSlice(conversation, await promptOf(conversation.id, desk)), ...messages]
}

/** What a conversation's model is told first, by the id it has in lists. */
export async function systemMessage(id: MessageId, desk: Desk): Promise<WireMessage | undefined> {
  const conversationId: ConversationId = `conv-${id.slice('message-'.length)}`
  const conversation = await findConversation(conversationId, desk)
  return conversation && systemSlice(conversation, await promptOf(conversation.id, desk))
}
