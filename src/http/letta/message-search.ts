import { z } from 'zod'
import { parseId } from '../../core/id.ts'
import type { ListPage } from '../../ports/memory-store.ts'
import { requireConversationById } from '../../service/conversations/conversations.ts'
import type { Desk } from '../../service/desk.ts'
import { type FoundMessage, listAllMessages, searchMessages } from '../../service/messages/messages.ts'
import type { Routes } from '../routes.ts'
import { refuse } from './errors.ts'
import { messageNamed, messageQuery } from './message-page.ts'
import { parsed, requireAgent } from './parse.ts'
import { PATIENCE_MS } from './passages.ts'
import { ofTypes, wireDate, wireMessages } from './wire/message.ts'

/** Messages of whichever agent. */
export function registerMessageSearchRoutes(routes: Routes): void {
  routes.get(
    '/v1/messages',
    async ({ query }, desk) => {
      const asked = parsed(messageQuery, query, 'query')
      const order = asked.order ?? 'desc'
      const conversation = await conversationIn(asked.conversation_id, desk)
      const page: ListPage = {
        ...{ limit: asked.limit, order },
        ...(asked.after ? { after: await cursorOf(asked.after, desk) } : {}),
        ...(asked.before ? { before: await cursorOf(asked.before, desk) } : {}),
      }
      const found = await listAllMessages({ ...page, ...(conversation ? { conversationId: conversation } : {}) }, desk)
      const messages = wireMessages(order === 'asc' ? found : found.toReversed())
      return (order === 'asc' ? messages : messages.reverse()).filter(ofTypes(asked.include_return_message_types))
    },
    { query: messageQuery },
  )

  routes.post(
    '/v1/messages/search',
    async ({ body }, desk) => {
      const asked = parsed(searchBody, body, 'body')
      const agent = asked.agent_id ? await requireAgent({ agent_id: asked.agent_id }, desk) : undefined
      const conversationId = await conversationIn(asked.conversation_id ?? undefined, desk)
      const found = await searchMessages(
        {
          ...{ text: asked.query, limit: asked.limit ?? USUAL_RESULTS },
          ...{ by: WAYS[asked.search_mode ?? 'hybrid'], signal: AbortSignal.timeout(PATIENCE_MS) },
          ...(agent ? { agentId: agent.id } : {}),
          ...(conversationId ? { conversationId } : {}),
          ...(asked.start_date ? { from: timeOf(asked.start_date, 'start') } : {}),
          ...(asked.end_date ? { to: timeOf(asked.end_date, 'end') } : {}),
        },
        desk,
      )
      return found.map(resultOf)
    },
    { body: searchBody },
  )
}

const USUAL_RESULTS = 50
const MOST_RESULTS = 100

const date = z.string().refine((text) => !Number.isNaN(Date.parse(text)), 'must be a date in ISO 8601')

const WAYS = { fts: 'words', vector: 'meaning', hybrid: 'both' } as const

const searchBody = z.object({
  query: z.string().max(10_000),
  search_mode: z.enum(['vector', 'fts', 'hybrid']).nullish(),
  agent_id: z.string().nullish(),
  conversation_id: z.string().nullish(),
  limit: z.int().min(1).max(MOST_RESULTS).nullish(),
  start_date: date.nullish(),
  end_date: date.nullish(),
})

const DAY_MS = 86_400_000

/** A day that is named as the end is in it as a whole. */
function timeOf(text: string, side: 'start' | 'end'): number {
  const at = Date.parse(text)
  return side === 'end' && /^\d{4}-\d{2}-\d{2}$/.test(text) ? at + DAY_MS - 1 : at
}

async function conversationIn(text: string | undefined, desk: Desk) {
  if (text === undefined) return undefined
  const id = parseId('conv', text)
  if (!id) throw refuse(422, `conversation_id: "${text.slice(0, 80)}" is not the id of a conversation`)
  return (await requireConversationById(id, desk)).id
}

async function cursorOf(text: string, desk: Desk): Promise<string> {
  const id = parseId('message', text)
  if (!id) throw refuse(422, `query: "${text.slice(0, 80)}" is not the id of a message`)
  const message = await messageNamed(id, desk)
  if (message) return message.id
  throw refuse(404, `NOT_FOUND: there is no message ${id}`)
}

const RESULT_TYPES: Record<string, string> = {
  ...{ user: 'user_message', assistant: 'assistant_message', system: 'system_message' },
}

/** Where nobody places what was said, whichever mode was asked for, `vector_rank` is null: that says so. */
function resultOf({ message, text, wordRank, vectorRank, score }: FoundMessage) {
  const { id, agentId, conversationId, createdAt, body } = message
  return {
    ...{ message_type: RESULT_TYPES[body.role] ?? 'assistant_message', message_id: id, content: text },
    ...{ created_at: wireDate(createdAt), agent_id: agentId, conversation_id: conversationId, embedded_text: text },
    ...{ fts_rank: wordRank ?? null, vector_rank: vectorRank ?? null, rrf_score: score },
  }
}
