import type { ConversationId, OrganizationId, RunId } from '../core/id.ts'
import type { Json, JsonObject } from '../core/json.ts'

/** A request of the OpenAI-compatible API that names no conversation. */
export type PlacedRequest = {
  organizationId: OrganizationId
  /** Hash of key, path and body, which copies of a request share. */
  fingerprint: string
  isRetry: boolean
  /** When it arrived. */
  at: number
  /** The conversation to take if no earlier copy has one. */
  conversationId: ConversationId
  /** A retry must follow its request within this time. */
  windowMs: number
}

/** A conversation that a client created before it named an agent; `items` are taken by its first turn. */
export type OpenaiConversation = {
  id: ConversationId
  organizationId: OrganizationId
  metadata: JsonObject
  items: Json[]
  createdAt: number
}

export type OpenaiStore = {
  /** The conversation for the request: that of an earlier copy, or its own. Copies are serialized. */
  place(request: PlacedRequest): Promise<ConversationId>
  createConversation(conversation: OpenaiConversation): Promise<void>
  conversation(organizationId: OrganizationId, id: ConversationId): Promise<OpenaiConversation | undefined>
  /** Replaces the metadata of a conversation, and stores it if it was created by other means. */
  saveConversation(conversation: OpenaiConversation): Promise<void>
  deleteConversation(organizationId: OrganizationId, id: ConversationId): Promise<boolean>
  /** The run stays; the API no longer shows it as a response. */
  deleteResponse(organizationId: OrganizationId, runId: RunId): Promise<void>
  isResponseDeleted(organizationId: OrganizationId, runId: RunId): Promise<boolean>
}
