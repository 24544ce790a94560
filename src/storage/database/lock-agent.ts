import type { AgentId, OrganizationId } from '../../core/id.ts'
import { statement } from './statement.ts'

/** Locks an agent and all that belongs to it until the transaction ends. */
export const lockAgent = statement<{ organization: OrganizationId; agent: AgentId }>()((db, p, { lock }) =>
  lock(
    db.selectFrom('agents').select('id').where('id', '=', p('agent')).where('organization_id', '=', p('organization')),
  ),
)
