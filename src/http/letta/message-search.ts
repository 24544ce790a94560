import { z } from 'zod'
import { defined } from '../../core/defined.ts'
import { DAY_MS } from '../../core/duration.ts'
import { parseId } from '../../core/id.ts'
import { Problem } from '../../core/problem.ts'
import type { ListPage } from '../../ports/list-page.ts'
import { requireConversationById } from '../../service/conversations/conversations.ts'
import { listAllMessages, searchMessages } from '../../service/messages/messages.ts'
import type { ServiceContext } from '../../service/service-context.ts'
import { date } from '../field.ts'
import { operation } from '../operation.ts'
import { assistantToolOf } from './assistant-tool.ts'
import { findMessageByAnyId, messageQuery } from './message-page.ts'
import { EMBED_WAIT_MS } from './passages.ts'
import { requireAgentNamed } from './path-params.ts'
import { messageSearchSchema, resultOf } from './wire/found-message.ts'
import { ofTypes, wireMessages } from './wire/message.ts'
import { messageSchema } from './wire/message-schema.ts'

const DEFAULT_RESULTS = 50
const MAX_RESULTS = 100

const MODES = { fts: 'words', vector: 'meaning', hybrid: 'both' } as const

const listAllMessagesOperation = operation({
  route: 'GET /v1/messages',
  scope: 'read',
  summary: 'Lists the messages of all agents',
  query: messageQuery,
  answer: z.array(messageSchema),
  async handle({ query }, context) {
    const order = query.order ?? 'desc'
    const conversation = await requireConversationId(query.conversation_id, context)
    const page: ListPage = {
      limit: query.limit,
      order,
      ...defined({
        after: query.after ? await requireCursor(query.after, context) : undefined,
        before: query.before ? await requireCursor(query.before, context) : undefined,
      }),
    }
    const found = await listAllMessages({ ...page, ...defined({ conversationId: conversation || undefined }) }, context)
    const messages = wireMessages(order === 'asc' ? found : found.toReversed(), assistantToolOf(query))
    return (order === 'asc' ? messages : messages.reverse()).filter(ofTypes(query.include_return_message_types))
  },
})

const searchMessagesOperation = operation({
  route: 'POST /v1/messages/search',
  scope: 'read',
  summary: 'Searches the messages of all agents',
  body: z.object({
    query: z.string().max(10_000).describe('Text to search for, by words or by meaning.'),
    search_mode: z
      .enum(['vector', 'fts', 'hybrid'])
      .nullish()
      .describe(
        '`vector` searches by meaning (needs an embedding model), `fts` by words, `hybrid`, the default, by both.',
      ),
    agent_id: z.string().nullish().describe('Messages of this agent only.'),
    conversation_id: z.string().nullish().describe('Messages of this conversation only.'),
    limit: z.int().min(1).max(MAX_RESULTS).nullish().describe('Maximum number of results. Default: 50.'),
    start_date: date.nullish().describe('Messages from this time on.'),
    end_date: date.nullish().describe('Messages up to this time. A date without a time includes the whole day.'),
  }),
  example: { query: 'tea' },
  answer: messageSearchSchema,
  async handle({ body }, context) {
    const agent = body.agent_id ? await requireAgentNamed(body.agent_id, context) : undefined
    const conversationId = await requireConversationId(body.conversation_id ?? undefined, context)
    const found = await searchMessages(
      {
        text: body.query,
        limit: body.limit ?? DEFAULT_RESULTS,
        by: MODES[body.search_mode ?? 'hybrid'],
        signal: AbortSignal.timeout(EMBED_WAIT_MS),
        ...defined({
          agentId: agent ? agent.id : undefined,
          conversationId: conversationId || undefined,
          from: body.start_date ? timeOf(body.start_date, 'start') : undefined,
          to: body.end_date ? timeOf(body.end_date, 'end') : undefined,
        }),
      },
      context,
    )
    return found.map(resultOf)
  },
})

export const messageSearchOperations = [listAllMessagesOperation, searchMessagesOperation]

/** An end date without a time includes the whole day. */
function timeOf(text: string, side: 'start' | 'end'): number {
  const at = Date.parse(text)
  return side === 'end' && /^\d{4}-\d{2}-\d{2}$/.test(text) ? at + DAY_MS - 1 : at
}

async function requireConversationId(text: string | undefined, context: ServiceContext) {
  if (text === undefined) return undefined
  const id = parseId('conv', text)
  if (!id)
    throw new Problem(
      'invalid',
      `conversation_id: must be "conv-" followed by a lowercase UUID of version 4, not "${text.slice(0, 80)}"`,
    )
  return (await requireConversationById(id, context)).id
}

async function requireCursor(text: string, context: ServiceContext): Promise<string> {
  const id = parseId('message', text)
  if (!id) throw new Problem('invalid', `Unknown cursor "${text.slice(0, 80)}". Use the id of a message in this list.`)
  const message = await findMessageByAnyId(id, context)
  if (message) return message.id
  throw new Problem('not-found', `Unknown cursor "${id}". Use the id of a message in this list.`)
}
