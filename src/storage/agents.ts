import type { Agent } from '../core/agent.ts'
import type { AgentId, OrganizationId } from '../core/id.ts'
import type { AgentStore } from '../ports/store.ts'
import { insertConversation } from './conversations.ts'
import type { Database } from './database.ts'
import { statement } from './statement.ts'

export function agentStore({ read, write }: Database): AgentStore {
  return {
    create: (agent, defaultConversation) =>
      write({
        key: agent.id,
        async work(db) {
          await db.run(insert, rowOf(agent))
          await insertConversation(db, {
            id: defaultConversation,
            organizationId: agent.organizationId,
            agentId: agent.id,
            isDefault: true,
            createdAt: agent.createdAt,
            contextStart: 0,
            nextPosition: 0,
          })
          return true
        },
        recall: async (db) => ((await db.get(byId, idOf(agent))) ? true : undefined),
      }).then(() => undefined),

    get: (organizationId, id) =>
      read(async (db) => {
        const row = await db.get(byId, idOf({ organizationId, id }))
        return row && agentOf(row)
      }),

    findByName: (organizationId, name) =>
      read(async (db) => {
        const row = await db.get(byName, { organization: organizationId, name })
        return row && agentOf(row)
      }),

    list: (organizationId, { limit, before }) =>
      read(async (db) => {
        const rows = await db.all(page, { organization: organizationId, limit, ...beforeOf(before) })
        return rows.map(agentOf)
      }),
  }
}

type Row = {
  id: AgentId
  organization_id: OrganizationId
  name: string
  system: string
  model: Agent['model']
  fallback: string
  tools: string
  created_at: number
  updated_at: number
}

const rowOf = (agent: Agent): Row => ({
  id: agent.id,
  organization_id: agent.organizationId,
  name: agent.name,
  system: agent.system,
  model: agent.model,
  fallback: JSON.stringify(agent.fallback),
  tools: JSON.stringify(agent.tools),
  created_at: agent.createdAt,
  updated_at: agent.updatedAt,
})

const agentOf = (row: Row): Agent => ({
  id: row.id,
  organizationId: row.organization_id,
  name: row.name,
  system: row.system,
  model: row.model,
  fallback: JSON.parse(row.fallback),
  tools: JSON.parse(row.tools),
  createdAt: row.created_at,
  updatedAt: row.updated_at,
})

const idOf = ({ organizationId, id }: { organizationId: OrganizationId; id: AgentId }) => ({
  organization: organizationId,
  id,
})

/** A page without a beginning starts at the newest; an id that is not there gives an empty page. */
export const beforeOf = (before: string | undefined) => ({
  isFirst: before === undefined ? 1 : 0,
  before: before ?? '',
})

const insert = statement<Row>()((db, p) =>
  db.insertInto('agents').values({
    id: p('id'),
    organization_id: p('organization_id'),
    name: p('name'),
    system: p('system'),
    model: p('model'),
    fallback: p('fallback'),
    tools: p('tools'),
    created_at: p('created_at'),
    updated_at: p('updated_at'),
  }),
)

const byId = statement<{ organization: string; id: string }>()((db, p) =>
  db.selectFrom('agents').selectAll().where('id', '=', p('id')).where('organization_id', '=', p('organization')),
)

/** The eldest of that name: a newcomer does not take over what an old name means. */
const byName = statement<{ organization: string; name: string }>()((db, p) =>
  db
    .selectFrom('agents')
    .selectAll()
    .where('organization_id', '=', p('organization'))
    .where('name', '=', p('name'))
    .orderBy('number')
    .limit(1),
)

const page = statement<{ organization: string; isFirst: number; before: string; limit: number }>()((db, p) =>
  db
    .selectFrom('agents')
    .selectAll()
    .where('organization_id', '=', p('organization'))
    .where((where) =>
      where.or([
        where(where.cast(where.val(p('isFirst')), 'integer'), '=', 1),
        where(
          'number',
          '<',
          where
            .selectFrom('agents as last')
            .select('last.number')
            .where('last.id', '=', p('before'))
            .where('last.organization_id', '=', p('organization')),
        ),
      ]),
    )
    .orderBy('number', 'desc')
    .limit(p('limit')),
)
