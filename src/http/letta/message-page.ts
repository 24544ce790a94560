import { z } from 'zod'
import { type ConversationId, type MessageId, parseId } from '../../core/id.ts'
import { systemMessageId } from '../../core/memory-prompt.ts'
import type { Message } from '../../core/message.ts'
import { Problem } from '../../core/problem.ts'
import { findMessage } from '../../service/messages/messages.ts'
import type { ServiceContext } from '../../service/service-context.ts'
import { limit, listOf } from '../field.ts'
import { refusedValue, withoutEffect } from '../field-fate.ts'
import { withinPageBytes } from '../page-bytes.ts'
import { cursors } from '../paging.ts'
import { assistantToolQuery } from './assistant-tool.ts'
import { answerOfRequest } from './slice-ids.ts'
import { messageType } from './wire/message-type.ts'

/** In a query every value is text. */
const isTrue = (value: unknown): boolean => String(value).toLowerCase() === 'true'

export const messageQuery = z.object({
  ...cursors,
  ...assistantToolQuery,
  limit: limit(100),
  include_return_message_types: listOf(messageType)
    .optional()
    .describe('Messages of these types only, such as `user_message`.'),
  conversation_id: z
    .string()
    .optional()
    .describe('Messages of this conversation only. Routes of an agent use its default conversation without it.'),
  group_id: refusedValue('Holdfast has no groups of agents to filter by.'),
  include_err: withoutEffect(
    z.string().optional(),
    'errors are not stored as messages. `/v1/runs/{id}/events` has them.',
    isTrue,
  ),
})

export type MessageQuery = z.output<typeof messageQuery>

/** Position of the system prompt, before all messages. */
export const SYSTEM_POSITION = -1

/** Finds a message by its id or by the id of its approval request, optionally in one conversation only. */
export const findMessageByAnyId = (
  id: MessageId,
  context: ServiceContext,
  conversationId?: ConversationId,
): Promise<Message | undefined> => findMessage([id, answerOfRequest(id)], context, conversationId)

/** The position of a cursor in a conversation. */
export async function requirePosition(
  cursor: string | undefined,
  conversationId: ConversationId,
  context: ServiceContext,
): Promise<number | undefined> {
  if (cursor === undefined) return undefined
  const id = parseId('message', cursor)
  if (!id)
    throw new Problem('invalid', `Unknown cursor "${cursor.slice(0, 80)}". Use the id of a message in this list.`)
  if (id === systemMessageId(conversationId)) return SYSTEM_POSITION
  const message = await findMessageByAnyId(id, context, conversationId)
  if (message) return message.position
  throw new Problem('not-found', `Unknown cursor "${id}". Use the id of a message in this list.`)
}

/** A page of in-memory messages: those of one run or one step. */
export function pageOfMessages(messages: readonly Message[], query: MessageQuery): Message[] {
  const indexOf = (cursor: string | undefined) => {
    if (cursor === undefined) return undefined
    const id = parseId('message', cursor)
    const index = messages.findIndex((message) => message.id === id || (id && message.id === answerOfRequest(id)))
    if (index < 0)
      throw new Problem('not-found', `Unknown cursor "${cursor.slice(0, 80)}". Use the id of a message in this list.`)
    return index
  }
  const isNewestFirst = query.order === 'desc'
  const after = indexOf(query.after)
  const before = indexOf(query.before)
  // In a newest-first list, the items after a cursor are older than it.
  const [from, to] = isNewestFirst ? [before, after] : [after, before]
  const between = messages.slice(from === undefined ? 0 : from + 1, to ?? messages.length)
  const inOrder = isNewestFirst ? between.toReversed() : between
  const page = query.before !== undefined ? inOrder.slice(-query.limit) : inOrder.slice(0, query.limit)
  // The limit keeps the end of a list that has a `before`, also next to an `after`.
  return withinPageBytes(page, { before: query.before })
}
