import { z } from 'zod'
import type { Conversation } from '../../core/agent.ts'
import { type ConversationId, parseId } from '../../core/id.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { Problem } from '../../core/problem.ts'
import type { OpenaiConversation } from '../../ports/openai-store.ts'
import { findConversation, deleteConversation as remove } from '../../service/conversations/conversations.ts'
import type { ServiceContext } from '../../service/service-context.ts'
import { operation } from '../operation.ts'
import { itemPage, itemQuery, itemsOfMessage, listOf } from './input-items.ts'
import { SHARED_PARAMETERS } from './parameters.ts'
import { seconds } from './response-object.ts'
import { inputItems, toSentMessages } from './responses-body.ts'
import { itemListSchema, itemSchema, type WireItem } from './wire/item.ts'

const GROUP = 'openai'
const conversationPath = { conversation_id: z.string().max(100).describe('The id of a conversation.') }
const itemPath = { ...conversationPath, item_id: z.string().max(200).describe('The id of an item.') }
const { metadata } = SHARED_PARAMETERS

const conversationSchema = z.lazy(() =>
  z
    .object({
      id: z.string(),
      object: z.literal('conversation'),
      created_at: z.int(),
      metadata: z.record(z.string(), z.string()),
    })
    .meta({ id: 'OpenaiConversation', description: 'A conversation; its first response decides which agent it has.' }),
)

const createConversation = operation({
  route: 'POST /openai/v1/conversations',
  scope: 'agent',
  group: GROUP,
  summary: 'Creates a conversation; the first response in it names its agent',
  body: z.object({ items: inputItems.max(20).nullish(), metadata }),
  example: { metadata: { topic: 'demo' } },
  answer: conversationSchema,
  async handle({ body }, context) {
    const { clock, randomness, store } = context.deps
    const conversation: OpenaiConversation = {
      id: `conv-${randomness.uuid()}`,
      organizationId: context.organizationId,
      metadata: body.metadata ?? {},
      items: toSentMessages(body.items ?? []) as unknown as Json[],
      createdAt: clock.now(),
    }
    await store.openai.createConversation(conversation)
    return toConversation(conversation)
  },
})

const retrieveConversation = operation({
  route: 'GET /openai/v1/conversations/:conversation_id',
  scope: 'read',
  group: GROUP,
  summary: 'Shows a conversation',
  params: conversationPath,
  answer: conversationSchema,
  handle: async ({ params }, context) => toConversation(await requireKnown(params.conversation_id, context)),
})

const updateConversation = operation({
  route: 'POST /openai/v1/conversations/:conversation_id',
  scope: 'agent',
  group: GROUP,
  summary: 'Replaces the metadata of a conversation',
  params: conversationPath,
  body: z.object({ metadata }),
  example: { metadata: { topic: 'demo' } },
  answer: conversationSchema,
  async handle({ params, body }, context) {
    const { isStored: _, ...known } = await requireKnown(params.conversation_id, context)
    const changed = { ...known, metadata: (body.metadata ?? {}) as JsonObject }
    await context.deps.store.openai.saveConversation(changed)
    return toConversation(changed)
  },
})

const deleteConversation = operation({
  route: 'DELETE /openai/v1/conversations/:conversation_id',
  scope: 'agent',
  group: GROUP,
  summary: 'Deletes a conversation with its messages',
  params: conversationPath,
  answer: z.object({ id: z.string(), object: z.literal('conversation.deleted'), deleted: z.literal(true) }),
  async handle({ params, request }, context) {
    const { id } = await requireKnown(params.conversation_id, context)
    const stored = await findConversation(id, context)
    if (stored) await remove(stored, context, request.server.serverContext.closing)
    await context.deps.store.openai.deleteConversation(context.organizationId, id)
    return { id, object: 'conversation.deleted' as const, deleted: true as const }
  },
})

const listItems = operation({
  route: 'GET /openai/v1/conversations/:conversation_id/items',
  scope: 'read',
  group: GROUP,
  summary: 'Lists the messages of a conversation, with calls and their results',
  params: conversationPath,
  query: itemQuery,
  answer: itemListSchema,
  async handle({ params, query }, context) {
    const known = await requireKnown(params.conversation_id, context)
    const conversation = await findConversation(known.id, context)
    if (!conversation || conversation.nextPosition === 0) return itemPage(waitingItems(known), query)
    return pageOfMessages(conversation, query, context)
  },
})

const createItems = operation({
  route: 'POST /openai/v1/conversations/:conversation_id/items',
  scope: 'agent',
  group: GROUP,
  summary: 'Adds items to a conversation that has not begun; later ones are sent with a response',
  params: conversationPath,
  body: z.object({ items: inputItems.min(1).max(20) }),
  example: { items: [{ type: 'message', role: 'user', content: 'Hello' }] },
  answer: itemListSchema,
  async handle({ params, body }, context) {
    const known = await requireKnown(params.conversation_id, context)
    if (await findConversation(known.id, context))
      throw new Problem(
        'invalid-argument',
        'This conversation has begun: messages are immutable and come from its turns. Send the items as the `input` of a response.',
        { param: 'items' },
      )
    const before = known.items.length
    const items = [...known.items, ...(toSentMessages(body.items) as unknown as Json[])]
    const { store } = context.deps
    await store.openai.deleteConversation(context.organizationId, known.id)
    await store.openai.createConversation({ ...known, items })
    return listOf(waitingItems({ ...known, items }).slice(before), false)
  },
})

const retrieveItem = operation({
  route: 'GET /openai/v1/conversations/:conversation_id/items/:item_id',
  scope: 'read',
  group: GROUP,
  summary: 'Shows an item of a conversation',
  params: itemPath,
  answer: itemSchema,
  async handle({ params: { conversation_id, item_id } }, context) {
    const known = await requireKnown(conversation_id, context)
    const conversation = await findConversation(known.id, context)
    const items = conversation ? await recentItems(conversation, item_id, context) : waitingItems(known)
    const found = items.find(({ id }) => id === item_id)
    if (found) return found
    throw new Problem('not-found', `There is no item "${item_id}" in this conversation.`)
  },
})

const deleteItem = operation({
  route: 'DELETE /openai/v1/conversations/:conversation_id/items/:item_id',
  scope: 'agent',
  group: GROUP,
  summary: 'Always answers 405: messages are immutable',
  params: itemPath,
  answer: z.never(),
  async handle({ params }, context) {
    await requireKnown(params.conversation_id, context)
    throw new Problem('immutable', 'Messages are immutable and cannot be deleted one by one. Delete the conversation.')
  },
})

export const conversationOperations = [
  createConversation,
  retrieveConversation,
  updateConversation,
  deleteConversation,
  listItems,
  createItems,
  retrieveItem,
  deleteItem,
]

const toConversation = ({ id, createdAt, metadata: fields }: OpenaiConversation) => ({
  id,
  object: 'conversation' as const,
  created_at: seconds(createdAt),
  metadata: fields as Record<string, string>,
})

/** A conversation that was created here, or by any other entrance. */
async function requireKnown(text: string, context: ServiceContext) {
  const id = parseId('conv', text)
  const { organizationId, deps } = context
  const [known, conversation] = id
    ? await Promise.all([deps.store.openai.conversation(organizationId, id), findConversation(id, context)])
    : []
  if (known) return { ...known, isStored: true }
  if (id && conversation)
    return { id, organizationId, metadata: {}, items: [], createdAt: conversation.createdAt, isStored: false }
  throw new Problem('not-found', `There is no conversation "${text}".`, { param: 'conversation_id' })
}

/** Items that the first turn will take. */
const waitingItems = ({ id, items }: { id: ConversationId; items: Json[] }): WireItem[] =>
  items.map((item, index) => {
    const { role, content, text } = item as { role: string; content?: Json; text?: string }
    return {
      id: `msg_${id.slice('conv-'.length)}_${index}`,
      type: 'message',
      role,
      status: 'completed',
      content: (content as never) ?? [{ type: 'input_text', text: text ?? '' }],
    }
  })

const MESSAGES_AT_ONCE = 200

/** Reads messages until the page is full: a message has one item or more. */
async function pageOfMessages(
  { id }: Conversation,
  { limit, order, after }: z.output<typeof itemQuery>,
  context: ServiceContext,
) {
  const { store } = context.deps
  const items: WireItem[] = []
  let isFound = after === undefined
  for (let cursor: number | undefined; ; ) {
    const bound = cursor === undefined ? {} : order === 'asc' ? { after: cursor } : { before: cursor }
    const page = await store.messages.list(context.organizationId, id, {
      limit: MESSAGES_AT_ONCE,
      take: order === 'asc' ? 'oldest' : 'newest',
      ...bound,
    })
    const inOrder = order === 'asc' ? page : page.toReversed()
    for (const item of inOrder.flatMap((message) =>
      order === 'asc' ? itemsOfMessage(message) : itemsOfMessage(message).toReversed(),
    )) {
      if (isFound) items.push(item)
      else isFound = item.id === after
    }
    cursor = inOrder.at(-1)?.position
    if (page.length < MESSAGES_AT_ONCE || items.length > limit) break
  }
  if (!isFound) throw new Problem('not-found', `Unknown cursor "${after?.slice(0, 100)}".`)
  return listOf(items.slice(0, limit), items.length > limit)
}

/** The items of the message that an item belongs to. */
async function recentItems(conversation: Conversation, itemId: string, context: ServiceContext): Promise<WireItem[]> {
  const { store } = context.deps
  const messageId = parseId('message', `message-${itemId.replace(/^(?:msg|rs|cmp)_/, '').slice(0, 36)}`)
  const message = messageId && (await store.messages.get(context.organizationId, messageId, conversation.id))
  if (message) return itemsOfMessage(message)
  const newest = await store.messages.list(context.organizationId, conversation.id, {
    limit: MESSAGES_AT_ONCE,
    take: 'newest',
  })
  return newest.flatMap(itemsOfMessage)
}
