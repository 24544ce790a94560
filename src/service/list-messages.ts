import type { ConversationId } from '../core/id.ts'
import type { Message } from '../core/message.ts'
import type { MessagePage } from '../ports/store.ts'
import type { Desk } from './desk.ts'

export const listMessages = (conversationId: ConversationId, page: MessagePage, desk: Desk): Promise<Message[]> =>
  desk.world.store.messages.list(desk.organizationId, conversationId, page)
