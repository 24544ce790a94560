import type { AdmissionPolicy } from '../admission.ts'
import { defined } from '../defined.ts'
import type { AgentId, ConversationId, OrganizationId, RunId } from '../id.ts'
import type { Chat, Sender } from './incoming.ts'

/**
 * Which messages share a conversation: all of a chat (or of its thread), those of one person in a chat, those of one
 * person in the private chats of all linked accounts, or those of all chats of the account.
 */
export const ROUTINGS = ['per-chat', 'per-user', 'per-person', 'shared'] as const
export type Routing = (typeof ROUTINGS)[number]

/** What maps a chat, a thread or a person in it to a conversation. */
export type ChatSession = {
  organizationId: OrganizationId
  account: string
  key: string
  chatId: string
  thread?: string
  isPrivate: boolean
  title?: string
  agentId: AgentId
  conversationId: ConversationId
  /** Chosen in the chat with /queue. */
  busy?: AdmissionPolicy
  /** When its conversation began. */
  createdAt: number
  lastAt: number
}

/** Private chats have one person, so `per-user` and `per-chat` are the same there. */
export function sessionKeyOf(routing: Routing, { chat, sender }: { chat: Chat; sender: Sender }): string {
  if (routing === 'shared') return 'shared'
  const place = chat.thread === undefined ? chat.id : `${chat.id}:${chat.thread}`
  return routing === 'per-user' && chat.kind !== 'private' ? `${place}/${sender.id}` : place
}

/** `waiting`: the run waits for approval. `reserved`: the run exists only if `after` ends without reading the message. */
type DeliveryState = 'open' | 'waiting' | 'reserved' | 'ended'

/** A run whose outcome is owed to a chat. */
export type Delivery = {
  runId: RunId
  organizationId: OrganizationId
  account: string
  chatId: string
  thread?: string
  isPrivate: boolean
  replyTo?: string
  conversationId: ConversationId
  state: DeliveryState
  after?: RunId
  /** No message of the chat started the run: a schedule did, the API, or a process that ended. */
  isUnprompted: boolean
  createdAt: number
}

/** The address of a chat, for messages to it. */
export type ChatAddress = { chatId: string; thread?: string; isPrivate: boolean }

export const addressOf = ({ id, thread, kind }: Chat): ChatAddress => ({
  chatId: id,
  isPrivate: kind === 'private',
  ...defined({ thread }),
})
