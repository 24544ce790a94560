import type { McpServerId } from '../../core/id.ts'
import type { McpServer } from '../../core/mcp-server.ts'
import { retagged, type ToolPlan } from '../../core/mcp-tools.ts'
import type { McpServerStore, PlanTools } from '../../ports/mcp-store.ts'
import type { Database } from '../database/database.ts'
import type { NewRow } from '../database/schema.ts'
import { sealedSecrets } from '../database/sealed-secrets.ts'
import { type Executor, statement } from '../database/statement.ts'
import { insertTool, removeTool, toolNames, toolsOfServer, updateTool } from './tools.ts'

export function mcpServerStore(database: Database): McpServerStore {
  const { read, write } = database
  return {
    create: (server, plan) =>
      write({
        key: server.id,
        async work(db) {
          const { organizationId, name } = server
          if (await db.get(byName, { organization: organizationId, name })) return 'name-taken' as const
          await db.run(insert, rowOf(server))
          if (plan) await carryOut(db, server, plan)
          return 'created' as const
        },
        recall: async (db) =>
          (await db.get(byId, { organization: server.organizationId, id: server.id })) ? 'created' : undefined,
      }),

    get: (organizationId, id) =>
      read(async (db) => {
        const row = await db.get(byId, { organization: organizationId, id })
        return row && serverOf(row)
      }),

    list: (organizationId) => read(async (db) => (await db.all(all, { organization: organizationId })).map(serverOf)),

    update: (organizationId, id, edit) =>
      write({
        key: id,
        async work(db) {
          const row = await db.get(forUpdate, { organization: organizationId, id })
          if (!row) return undefined
          const before = serverOf(row)
          const server = edit(before)
          if (server.name !== before.name) {
            if (await db.get(byName, { organization: organizationId, name: server.name })) return 'name-taken' as const
            for (const tool of await toolsOfServer(db, organizationId, id))
              await updateTool(db, retagged(tool, server, before.name))
          }
          await db.run(update, rowOf(server))
          return server
        },
      }),

    delete: (organizationId, id) =>
      write({
        key: id,
        async work(db) {
          if (!(await db.get(forUpdate, { organization: organizationId, id }))) return false
          for (const tool of await toolsOfServer(db, organizationId, id)) await removeTool(db, tool)
          return (await db.run(remove, { id })) > 0
        },
      }),

    record: (organizationId, id, { revision, contact, plan, at }) =>
      write({
        key: id,
        async work(db) {
          const row = await db.get(forUpdate, { organization: organizationId, id })
          if (!row) return undefined
          if (row.revision !== revision) return 'moved' as const
          const server = { ...serverOf(row), contact, updatedAt: at }
          await db.run(update, rowOf(server))
          return plan ? carryOut(db, server, plan) : { add: [], change: [], remove: [] }
        },
      }),

    tools: (organizationId, id) => read((db) => toolsOfServer(db, organizationId, id)),

    ...sealedSecrets<McpServerId>('mcp_servers', database),
  }
}

async function carryOut(db: Executor, { organizationId, id }: McpServer, plan: PlanTools): Promise<ToolPlan> {
  const known = await toolsOfServer(db, organizationId, id)
  const own = new Set(known.map(({ name }) => name))
  const taken = new Set((await toolNames(db, organizationId)).filter((name) => !own.has(name)))
  const decided = plan({ known, isTaken: (name) => taken.has(name) })
  for (const tool of decided.remove) await removeTool(db, tool)
  for (const tool of decided.change) await updateTool(db, tool)
  for (const tool of decided.add) await insertTool(db, tool)
  return decided
}

type Row = NewRow<'mcp_servers'>

const rowOf = (server: McpServer): Row => ({
  id: server.id,
  organization_id: server.organizationId,
  name: server.name,
  place: JSON.stringify(server.place),
  sealed_secrets: server.sealed ?? null,
  contact: JSON.stringify(server.contact),
  revision: server.revision,
  created_at: server.createdAt,
  updated_at: server.updatedAt,
})

const serverOf = (row: Row): McpServer => ({
  id: row.id,
  organizationId: row.organization_id,
  name: row.name,
  place: JSON.parse(row.place),
  ...(row.sealed_secrets === null ? {} : { sealed: row.sealed_secrets }),
  contact: JSON.parse(row.contact),
  revision: row.revision,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
})

const insert = statement<Row>()((db, p) =>
  db.insertInto('mcp_servers').values({
    id: p('id'),
    organization_id: p('organization_id'),
    name: p('name'),
    place: p('place'),
    sealed_secrets: p('sealed_secrets'),
    contact: p('contact'),
    revision: p('revision'),
    created_at: p('created_at'),
    updated_at: p('updated_at'),
  }),
)

const update = statement<Row>()((db, p) =>
  db
    .updateTable('mcp_servers')
    .set({
      name: p('name'),
      place: p('place'),
      sealed_secrets: p('sealed_secrets'),
      contact: p('contact'),
      revision: p('revision'),
      updated_at: p('updated_at'),
    })
    .where('id', '=', p('id')),
)

const byId = statement<{ organization: string; id: string }>()((db, p) =>
  db.selectFrom('mcp_servers').selectAll().where('id', '=', p('id')).where('organization_id', '=', p('organization')),
)

const forUpdate = statement<{ organization: string; id: string }>()((db, p, { lock }) =>
  lock(
    db.selectFrom('mcp_servers').selectAll().where('id', '=', p('id')).where('organization_id', '=', p('organization')),
  ),
)

const byName = statement<{ organization: string; name: string }>()((db, p) =>
  db
    .selectFrom('mcp_servers')
    .select('id')
    .where('organization_id', '=', p('organization'))
    .where('name', '=', p('name')),
)

const all = statement<{ organization: string }>()((db, p) =>
  db.selectFrom('mcp_servers').selectAll().where('organization_id', '=', p('organization')).orderBy('number'),
)

const remove = statement<{ id: string }>()((db, p) => db.deleteFrom('mcp_servers').where('id', '=', p('id')))
