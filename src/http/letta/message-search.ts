import { z } from 'zod'
import { DAY_MS } from '../../core/duration.ts'
import { parseId } from '../../core/id.ts'
import { Problem } from '../../core/problem.ts'
import type { ListPage } from '../../ports/list-page.ts'
import { requireConversationById } from '../../service/conversations/conversations.ts'
import type { Desk } from '../../service/desk.ts'
import { listAllMessages, searchMessages } from '../../service/messages/messages.ts'
import { date } from '../field.ts'
import { operation } from '../operation.ts'
import { requireAgentNamed } from './addressed.ts'
import { messageNamed, messageQuery } from './message-page.ts'
import { EMBED_WAIT_MS } from './passages.ts'
import { messageSearchSchema, resultOf } from './wire/found-message.ts'
import { ofTypes, wireMessages } from './wire/message.ts'
import { messageSchema } from './wire/message-schema.ts'

const USUAL_RESULTS = 50
const MOST_RESULTS = 100

const MODES = { fts: 'words', vector: 'meaning', hybrid: 'both' } as const

const listAllMessagesOperation = operation({
  route: 'GET /v1/messages',
  scope: 'read',
  summary: 'Lists the messages of all agents',
  query: messageQuery,
  answer: z.array(messageSchema),
  async handle({ query }, desk) {
    const order = query.order ?? 'desc'
    const conversation = await conversationIn(query.conversation_id, desk)
    const page: ListPage = {
      limit: query.limit,
      order,
      ...(query.after ? { after: await cursorOf(query.after, desk) } : {}),
      ...(query.before ? { before: await cursorOf(query.before, desk) } : {}),
    }
    const found = await listAllMessages({ ...page, ...(conversation ? { conversationId: conversation } : {}) }, desk)
    const messages = wireMessages(order === 'asc' ? found : found.toReversed())
    return (order === 'asc' ? messages : messages.reverse()).filter(ofTypes(query.include_return_message_types))
  },
})

const searchMessagesOperation = operation({
  route: 'POST /v1/messages/search',
  scope: 'read',
  summary: 'Searches the messages of all agents',
  body: z.object({
    query: z.string().max(10_000).describe('The words, or the meaning, to look for.'),
    search_mode: z
      .enum(['vector', 'fts', 'hybrid'])
      .nullish()
      .describe('By meaning, by words, or by both; meaning needs an embedding model.'),
    agent_id: z.string().nullish().describe('Messages of this agent only.'),
    conversation_id: z.string().nullish().describe('Messages of this conversation only.'),
    limit: z.int().min(1).max(MOST_RESULTS).nullish().describe('The most results; usually 50.'),
    start_date: date.nullish().describe('Messages of this time or later.'),
    end_date: date.nullish().describe('Messages of this time or earlier; a day counts as a whole.'),
  }),
  example: { query: 'tea' },
  answer: messageSearchSchema,
  async handle({ body }, desk) {
    const agent = body.agent_id ? await requireAgentNamed(body.agent_id, desk) : undefined
    const conversationId = await conversationIn(body.conversation_id ?? undefined, desk)
    const found = await searchMessages(
      {
        text: body.query,
        limit: body.limit ?? USUAL_RESULTS,
        by: MODES[body.search_mode ?? 'hybrid'],
        signal: AbortSignal.timeout(EMBED_WAIT_MS),
        ...(agent ? { agentId: agent.id } : {}),
        ...(conversationId ? { conversationId } : {}),
        ...(body.start_date ? { from: timeOf(body.start_date, 'start') } : {}),
        ...(body.end_date ? { to: timeOf(body.end_date, 'end') } : {}),
      },
      desk,
    )
    return found.map(resultOf)
  },
})

export const messageSearchOperations = [listAllMessagesOperation, searchMessagesOperation]

/** A day that is named as the end is in it as a whole. */
function timeOf(text: string, side: 'start' | 'end'): number {
  const at = Date.parse(text)
  return side === 'end' && /^\d{4}-\d{2}-\d{2}$/.test(text) ? at + DAY_MS - 1 : at
}

async function conversationIn(text: string | undefined, desk: Desk) {
  if (text === undefined) return undefined
  const id = parseId('conv', text)
  if (!id) throw new Problem('invalid', `conversation_id: "${text.slice(0, 80)}" is not the id of a conversation`)
  return (await requireConversationById(id, desk)).id
}

async function cursorOf(text: string, desk: Desk): Promise<string> {
  const id = parseId('message', text)
  if (!id) throw new Problem('invalid', `query: "${text.slice(0, 80)}" is not the id of a message`)
  const message = await messageNamed(id, desk)
  if (message) return message.id
  throw new Problem('not-found', `there is no message ${id}`)
}
