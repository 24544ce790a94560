import type { Agent } from '../../core/agent.ts'
import type { AgentId, OrganizationId } from '../../core/id.ts'
import { statement } from '../database/statement.ts'

export type AgentRow = {
  id: AgentId
  organization_id: OrganizationId
  name: string
  system: string
  model: Agent['model']
  fallback: string
  tools: string
  settings: string
  created_at: number
  updated_at: number
  sealed_secrets: string | null
}

export const agentRowOf = (agent: Agent): AgentRow => ({
  id: agent.id,
  organization_id: agent.organizationId,
  name: agent.name,
  system: agent.system,
  model: agent.model,
  fallback: JSON.stringify(agent.fallback),
  tools: JSON.stringify(agent.tools),
  settings: JSON.stringify(agent.settings ?? {}),
  created_at: agent.createdAt,
  updated_at: agent.updatedAt,
  sealed_secrets: agent.sealedSecrets ?? null,
})

export const agentOf = (row: AgentRow): Agent => ({
  id: row.id,
  organizationId: row.organization_id,
  name: row.name,
  system: row.system,
  model: row.model,
  fallback: JSON.parse(row.fallback),
  tools: JSON.parse(row.tools),
  ...(row.settings === '{}' ? {} : { settings: JSON.parse(row.settings) }),
  ...(row.sealed_secrets === null ? {} : { sealedSecrets: row.sealed_secrets }),
  createdAt: row.created_at,
  updatedAt: row.updated_at,
})

/** The sole right to change the agent and what hangs on it, for as long as the transaction lasts. */
export const lockAgent = statement<{ organization: string; agent: string }>()((db, p, { lock }) =>
  lock(
    db.selectFrom('agents').select('id').where('id', '=', p('agent')).where('organization_id', '=', p('organization')),
  ),
)
