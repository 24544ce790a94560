import type { Schema } from './wrong-values.ts'

const text: Schema = { type: 'string' }
const flag: Schema = { type: 'string', enum: ['true', 'false'] }
const list: Record<string, Schema> = {
  limit: { type: 'integer', minimum: 1, maximum: 1000 },
  after: text,
  before: text,
  order: { type: 'string', enum: ['asc', 'desc'] },
  ascending: flag,
}
const agent = { agent_id: text }

/** Query parameters that routes read and the OpenAPI document does not describe. */
export const UNDESCRIBED_QUERIES: Record<string, Record<string, Schema>> = {
  'GET /v1/agents/{agent_id}/archival-memory': { ...list, search: text },
  'GET /v1/agents/{agent_id}/core-memory/blocks': list,
  'GET /v1/agents/{agent_id}/tools': list,
  'GET /v1/blocks/{block_id}/agents': { ...list, include: text, include_relationships: text },
  'GET /v1/conversations/{conversation_id}/messages': {
    ...list,
    ...agent,
    include_return_message_types: text,
    conversation_id: text,
  },
  'PATCH /v1/conversations/{conversation_id}': agent,
  'POST /v1/conversations/{conversation_id}/cancel': agent,
  'POST /v1/conversations/{conversation_id}/fork': { ...agent, message_id: text, hidden: flag },
  'POST /v1/conversations/{conversation_id}/recompile': agent,
}

/** Bodies that routes read and the OpenAPI document does not describe. */
export const UNDESCRIBED_BODIES: Record<string, Schema> = {
  'POST /v1/conversations/{conversation_id}/compact': {
    type: 'object',
    properties: {
      ...agent,
      compaction_settings: {
        type: 'object',
        properties: {
          mode: { enum: ['all', 'sliding_window'] },
          model: text,
          prompt: text,
          clip_chars: { type: 'integer', minimum: 1 },
          sliding_window_percentage: { type: 'number', minimum: 0, maximum: 1 },
        },
      },
    },
  },
  'POST /v1/conversations/{conversation_id}/fork': {
    type: 'object',
    properties: { ...agent, message_id: text, hidden: { type: 'boolean' } },
  },
  'POST /v1/conversations/{conversation_id}/cancel': { type: 'object', properties: agent },
  'POST /v1/conversations/{conversation_id}/recompile': { type: 'object', properties: agent },
}
