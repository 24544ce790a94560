import type { ConversationId, MessageId } from '../core/id.ts'
import type { Message } from '../core/message.ts'
import type { Desk } from './desk.ts'

/** By any of these ids, the first that exists: a message may be known to a client by another one. */
export async function findMessage(
  ids: readonly MessageId[],
  { world, organizationId }: Desk,
  conversationId?: ConversationId,
): Promise<Message | undefined> {
  for (const id of ids) {
    const message = await world.store.messages.get(organizationId, id, conversationId)
    if (message) return message
  }
  return undefined
}
