import type { Conversation } from '../../core/agent.ts'
import { type Message, textOf } from '../../core/message.ts'
import { listMessages } from '../messages/messages.ts'
import { costOfUsage } from '../providers/cost-of-usage.ts'
import type { ServiceContext } from '../service-context.ts'

/** The first messages may be an application's, of other roles. */
const FIRST_MESSAGES = 5

export type ConversationOverview = {
  firstWords: string
  messages: number
  /** US dollars of the answers; undefined where the price of a model is unknown. */
  cost: number | undefined
}

/** What a person recognizes a conversation by. */
export async function conversationOverview(
  { id, nextPosition }: Conversation,
  context: ServiceContext,
): Promise<ConversationOverview> {
  const first = await listMessages(id, { limit: FIRST_MESSAGES, take: 'oldest' }, context)
  return { firstWords: firstWordsIn(first), messages: nextPosition, cost: await costOfConversation(id, context) }
}

function firstWordsIn(messages: readonly Message[]): string {
  for (const { body } of messages) if (body.role === 'user') return textOf(body.content)
  return ''
}

async function costOfConversation(id: Conversation['id'], context: ServiceContext): Promise<number | undefined> {
  let sum = 0
  for (const used of await context.deps.store.runs.usageOf(context.organizationId, id)) {
    const cost = costOfUsage(used, context)
    if (cost === undefined) return undefined
    sum += cost
  }
  return sum
}

/** All messages, oldest first, a page at a time. */
export async function* allMessages(
  { id }: Pick<Conversation, 'id'>,
  context: ServiceContext,
): AsyncGenerator<Message, void> {
  for (let after = -1; ; ) {
    const page = await listMessages(id, { limit: PAGE, take: 'oldest', after }, context)
    yield* page
    if (page.length < PAGE) return
    after = page.at(-1)!.position
  }
}

const PAGE = 500
