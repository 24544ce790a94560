import type { Agent, AgentSettings } from '../../core/agent.ts'
import { type RowOf, rowMapper } from './row-mapping.ts'

const FIELDS = rowMapper<Omit<Agent, 'settings'>>()({
  id: 'id',
  organizationId: 'organization_id',
  name: 'name',
  system: 'system',
  model: 'model',
  fallback: { list: 'fallback' },
  tools: { list: 'tools' },
  sealedSecrets: 'sealed_secrets',
  createdAt: 'created_at',
  updatedAt: 'updated_at',
})

/** Settings that queries filter by have columns; the rest is JSON. */
const QUERIED = rowMapper<Pick<AgentSettings, 'description' | 'sessionExpiry'>>()({
  description: 'description',
  sessionExpiry: { json: 'session_expiry' },
})

export type AgentRow = RowOf<typeof FIELDS> & RowOf<typeof QUERIED> & { settings: string | null }

export const AGENT_COLUMNS = [...FIELDS.columns, ...QUERIED.columns, 'settings'] as const

export function agentRowOf(agent: Agent): AgentRow {
  const settings = agent.settings ?? {}
  return { ...FIELDS.rowOf(agent), ...QUERIED.rowOf(settings), settings: QUERIED.restAsJson(settings) }
}

export function agentOf(row: AgentRow): Agent {
  const agent: Agent = FIELDS.objectOf(row)
  if (row.description === null && row.session_expiry === null && row.settings === null) return agent
  const rest: AgentSettings = row.settings === null ? {} : JSON.parse(row.settings)
  agent.settings = { ...rest, ...QUERIED.objectOf(row) }
  return agent
}
