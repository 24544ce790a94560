import type { Generated } from 'kysely'
import type { AgentId, ConversationId, MessageId, OrganizationId } from '../../core/id.ts'
import type { MessageRole } from '../../core/message.ts'
import type { PassageRow } from './passage-row.ts'

/** What is looked for, and what makes it found. */
export type SearchTables = {
  passages: { number: Generated<number> } & PassageRow
  passage_vectors: PassageVectorsTable
  message_index: MessageIndexTable
  message_index_heads: MessageIndexHeadsTable
  message_words: MessageWordsTable
  message_vectors: MessageVectorsTable
  message_vector_models: MessageVectorModelsTable
}

type PassageVectorsTable = {
  passage_number: number
  organization_id: OrganizationId
  agent_id: AgentId
  model: string
  /** A byte for each number, in base64. Null where the model refused the text. */
  vector: string | null
  refusal: string | null
}

/** The messages whose words are indexed; on PostgreSQL `search` are the words. */
type MessageIndexTable = {
  number: Generated<number>
  organization_id: OrganizationId
  agent_id: AgentId
  conversation_id: ConversationId
  position: number
  role: MessageRole
  created_at: number
  copy_of: MessageId | null
  /** Null while it waits for its vector. */
  embedded_by: string | null
}

/** As those of passages. */
type MessageVectorsTable = { message_number: number; vector: string | null; refusal: string | null }

/** Which models have embedded something of each agent. */
type MessageVectorModelsTable = { agent_id: AgentId; model: string; organization_id: OrganizationId }

/** Positions below it are indexed. */
type MessageIndexHeadsTable = { conversation_id: ConversationId; agent_id: AgentId; next_position: number }

/** Only on SQLite. */
type MessageWordsTable = { rowid: number; scope: string; content: string }
