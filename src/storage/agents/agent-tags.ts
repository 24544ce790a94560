import type { AgentId, OrganizationId } from '../../core/id.ts'
import { type Executor, statement } from '../database/statement.ts'

export async function setTags(
  db: Executor,
  { id, organizationId }: { id: AgentId; organizationId: OrganizationId },
  tags: readonly string[],
): Promise<void> {
  await db.run(clear, { agent: id })
  for (const tag of new Set(tags)) await db.run(insert, { organization: organizationId, agent: id, tag })
}

const clear = statement<{ agent: string }>()((db, p) => db.deleteFrom('agent_tags').where('agent_id', '=', p('agent')))

const insert = statement<{ organization: string; agent: string; tag: string }>()((db, p) =>
  db.insertInto('agent_tags').values({ organization_id: p('organization'), agent_id: p('agent'), tag: p('tag') }),
)
