import type { Generated } from 'kysely'
import type { AgentId, ConversationId, MessageId, OrganizationId } from '../../core/id.ts'
import type { MessageRole } from '../../core/message.ts'
import type { PassageRow } from './passage-row.ts'

/** Searchable tables and their indexes. */
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
  /** One byte per dimension, in base64. Null if the model refused the text. */
  vector: string | null
  refusal: string | null
}

/** Indexed messages; on PostgreSQL the column `search` holds their words. */
type MessageIndexTable = {
  number: Generated<number>
  organization_id: OrganizationId
  agent_id: AgentId
  conversation_id: ConversationId
  position: number
  role: MessageRole
  created_at: number
  copy_of: MessageId | null
  /** The embedding model; null if not embedded yet. */
  embedded_by: string | null
}

/** Like passage_vectors. */
type MessageVectorsTable = { message_number: number; vector: string | null; refusal: string | null }

/** Models that embedded messages of each agent. */
type MessageVectorModelsTable = { agent_id: AgentId; model: string; organization_id: OrganizationId }

/** Positions below `next_position` are indexed. */
type MessageIndexHeadsTable = { conversation_id: ConversationId; agent_id: AgentId; next_position: number }

/** SQLite only. */
type MessageWordsTable = { rowid: number; scope: string; content: string }
