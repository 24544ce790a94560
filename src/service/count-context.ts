import { toModelHistory } from '../core/history.ts'
import type { ConversationId } from '../core/id.ts'
import type { Desk } from './desk.ts'

/** How many messages the model is shown of a conversation. */
export async function countContext(conversationId: ConversationId, { world }: Desk): Promise<number> {
  const messages = await world.store.messages.context(conversationId)
  return toModelHistory(messages.map(({ body }) => body)).length
}
