import type { AgentId, OrganizationId } from '../../core/id.ts'
import { statement } from './statement.ts'

/** The sole right to change an agent and what belongs to it, for as long as the transaction lasts. */
export const lockAgent = statement<{ organization: OrganizationId; agent: AgentId }>()((db, p, { lock }) =>
  lock(
    db.selectFrom('agents').select('id').where('id', '=', p('agent')).where('organization_id', '=', p('organization')),
  ),
)
