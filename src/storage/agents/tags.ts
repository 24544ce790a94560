import { type SqlBool, sql } from 'kysely'
import type { AgentId, OrganizationId } from '../../core/id.ts'
import type { TagStore } from '../../ports/agent-store.ts'
import type { Database } from '../database/database.ts'
import { isBlank, likePattern } from '../database/list-page.ts'
import { listParameters, listValues, type Slots, statement } from '../database/statement.ts'

export function tagStore({ read }: Database): TagStore {
  return {
    list: (organizationId, { text, after, before, limit, order }) =>
      read(async (db) => {
        const [low, high] = order === 'asc' ? [after, before] : [before, after]
        const values = {
          organization: organizationId,
          text: likePattern(text),
          low: low ?? '',
          high: high ?? '',
          limit,
        }
        const rows = await db.all(order === 'asc' ? ascending : descending, values)
        return rows.map(({ tag }) => tag)
      }),

    ofAgents: (organizationId, agentIds) =>
      read(async (db) => {
        const found = new Map<AgentId, string[]>(agentIds.map((id) => [id, []]))
        for (let start = 0; start < agentIds.length; start += BATCH) {
          const values = listValues('id', agentIds.slice(start, start + BATCH), BATCH)
          const rows = await db.all(ofAgents, { organization: organizationId, ...values })
          for (const { agent_id, tag } of rows) found.get(agent_id)?.push(tag)
        }
        return found
      }),
  }
}

type TagListValues = { organization: OrganizationId; text: string; low: string; high: string; limit: number }

const listOf = (order: 'asc' | 'desc') =>
  statement<TagListValues>()((db, p) =>
    db
      .selectFrom('agent_tags')
      .select('tag')
      .distinct()
      .where('organization_id', '=', p('organization'))
      .where(sql<SqlBool>`(${isBlank(p('text'))} or lower(tag) like ${p('text')} escape '\\')`)
      .where(sql<SqlBool>`(${isBlank(p('low'))} or tag > ${p('low')})`)
      .where(sql<SqlBool>`(${isBlank(p('high'))} or tag < ${p('high')})`)
      .orderBy('tag', order)
      .limit(p('limit')),
  )

const ascending = listOf('asc')
const descending = listOf('desc')

const BATCH = 32
type TagBatchValues = Slots<'id', AgentId> & { organization: OrganizationId }

const ofAgents = statement<TagBatchValues>()((db, p) =>
  db
    .selectFrom('agent_tags')
    .select(['agent_id', 'tag'])
    .where('organization_id', '=', p('organization'))
    .where('agent_id', 'in', listParameters(p, 'id', BATCH))
    .orderBy('tag'),
)
