import type { AgentId, OrganizationId } from '../../core/id.ts'
import { insertInto } from '../database/row-statements.ts'
import { type Executor, statement } from '../database/statement.ts'

export async function setTags(
  db: Executor,
  { id, organizationId }: { id: AgentId; organizationId: OrganizationId },
  tags: readonly string[],
): Promise<void> {
  await db.run(clear, { agent: id })
  for (const tag of new Set(tags)) await db.run(insert, { organization_id: organizationId, agent_id: id, tag })
}

const clear = statement<{ agent: AgentId }>()((db, p) => db.deleteFrom('agent_tags').where('agent_id', '=', p('agent')))

const insert = insertInto('agent_tags', ['organization_id', 'agent_id', 'tag'])
