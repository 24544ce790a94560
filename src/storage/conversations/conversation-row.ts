import type { Conversation, ConversationDetails } from '../../core/agent.ts'

export type ConversationRow = {
  id: Conversation['id']
  organization_id: Conversation['organizationId']
  agent_id: Conversation['agentId']
  is_default: number
  created_at: number
  last_message_at: number | null
  context_start: number
  next_position: number
  summary: string | null
  details: string
  archived_at: number | null
  updated_at: number | null
}

export function conversationOf(row: ConversationRow): Conversation {
  const conversation: Conversation = {
    id: row.id,
    organizationId: row.organization_id,
    agentId: row.agent_id,
    isDefault: row.is_default === 1,
    createdAt: row.created_at,
    contextStart: row.context_start,
    nextPosition: row.next_position,
  }
  if (row.last_message_at !== null) conversation.lastMessageAt = row.last_message_at
  if (row.archived_at !== null) conversation.archivedAt = row.archived_at
  if (row.updated_at !== null) conversation.updatedAt = row.updated_at
  if (row.summary === null && row.details === '{}') return conversation
  const details = JSON.parse(row.details) as ConversationDetails
  conversation.details = { ...details, ...(row.summary === null ? {} : { summary: row.summary }) }
  return conversation
}

export function editable({ details = {}, archivedAt, updatedAt }: Conversation) {
  const { summary, ...rest } = details
  return {
    ...{ summary: summary ?? null, details: JSON.stringify(rest) },
    ...{ archived_at: archivedAt ?? null, updated_at: updatedAt ?? null },
  }
}
