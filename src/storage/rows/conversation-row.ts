import type { Conversation, ConversationDetails } from '../../core/agent.ts'
import { type RowOf, rowMapper } from './row-mapping.ts'

const FIELDS = rowMapper<Omit<Conversation, 'details'>>()({
  id: 'id',
  organizationId: 'organization_id',
  agentId: 'agent_id',
  isDefault: { flag: 'is_default' },
  createdAt: 'created_at',
  lastMessageAt: 'last_message_at',
  contextStart: 'context_start',
  listStart: 'list_start',
  nextPosition: 'next_position',
  archivedAt: 'archived_at',
  updatedAt: 'updated_at',
})

/** Details that queries filter by have columns; the rest is JSON. */
const QUERIED = rowMapper<Pick<ConversationDetails, 'summary' | 'hidden' | 'ownBlocks'>>()({
  summary: 'summary',
  hidden: { flag: 'hidden' },
  ownBlocks: { list: 'own_blocks' },
})

export type ConversationRow = RowOf<typeof FIELDS> & RowOf<typeof QUERIED> & { details: string | null }

export const CONVERSATION_COLUMNS = [...FIELDS.columns, ...QUERIED.columns, 'details'] as const

export function conversationRowOf(conversation: Conversation): ConversationRow {
  const details = conversation.details ?? {}
  return { ...FIELDS.rowOf(conversation), ...QUERIED.rowOf(details), details: QUERIED.restAsJson(details) }
}

export function conversationOf(row: ConversationRow): Conversation {
  const conversation: Conversation = FIELDS.objectOf(row)
  if (row.summary === null && row.hidden === null && row.own_blocks === null && row.details === null)
    return conversation
  const rest: ConversationDetails = row.details === null ? {} : JSON.parse(row.details)
  conversation.details = { ...rest, ...QUERIED.objectOf(row) }
  return conversation
}
