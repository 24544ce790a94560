import type { CredentialId } from '../../core/credential.ts'
import type { McpServerId, OrganizationId } from '../../core/id.ts'
import { mcpCredentialId } from '../../core/mcp-oauth.ts'
import type { McpServer } from '../../core/mcp-server.ts'
import { retagged, type ToolPlan } from '../../core/mcp-tools.ts'
import type { McpServerStore, PlanTools } from '../../ports/mcp-store.ts'
import type { Database } from '../database/database.ts'
import { markTargetDeleted } from '../database/imported-targets.ts'
import { insertInto, rowById, updateById } from '../database/row-statements.ts'
import { sealedSecrets } from '../database/sealed-secrets.ts'
import { type Executor, statement } from '../database/statement.ts'
import { MCP_SERVER } from '../rows/mcp-server-row.ts'
import { editNamed } from './edit-named.ts'
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
          await db.run(insert, MCP_SERVER.rowOf(server))
          if (plan) await applyToolPlan(db, server, plan)
          return 'created' as const
        },
        findCommitted: async (db) =>
          (await db.get(byId.plain, { organization: server.organizationId, id: server.id })) ? 'created' : undefined,
      }),

    get: (organizationId, id) =>
      read(async (db) => {
        const row = await db.get(byId.plain, { organization: organizationId, id })
        return row && MCP_SERVER.objectOf(row)
      }),

    list: (organizationId) =>
      read(async (db) => (await db.all(all, { organization: organizationId })).map(MCP_SERVER.objectOf)),

    update: (organizationId, id, edit) =>
      write({
        key: id,
        async work(db) {
          const row = await db.get(byId.locked, { organization: organizationId, id })
          if (!row) return undefined
          return editNamed(MCP_SERVER.objectOf(row), {
            edit,
            isTaken: (name) => db.get(byName, { organization: organizationId, name }),
            async rename(before, after) {
              for (const tool of await toolsOfServer(db, organizationId, id))
                await updateTool(db, retagged(tool, after, before.name))
            },
            save: (server) => db.run(update, MCP_SERVER.rowOf(server)),
          })
        },
      }),

    delete: (organizationId, id) =>
      write({
        key: id,
        async work(db) {
          if (!(await db.get(byId.locked, { organization: organizationId, id }))) return false
          for (const tool of await toolsOfServer(db, organizationId, id)) await removeTool(db, tool)
          await markTargetDeleted(db, id)
          await db.run(removeTokens, { id: mcpCredentialId(id) })
          return (await db.run(remove, { id })) > 0
        },
      }),

    record: (organizationId, id, { revision, contact, plan, at }) =>
      write({
        key: id,
        async work(db) {
          const row = await db.get(byId.locked, { organization: organizationId, id })
          if (!row) return undefined
          if (row.revision !== revision) return 'moved' as const
          const server = { ...MCP_SERVER.objectOf(row), contact, updatedAt: at }
          await db.run(update, MCP_SERVER.rowOf(server))
          return plan ? applyToolPlan(db, server, plan) : { add: [], change: [], remove: [] }
        },
      }),

    tools: (organizationId, id) => read((db) => toolsOfServer(db, organizationId, id)),

    ...sealedSecrets<McpServerId>('mcp_servers', database),
  }
}

async function applyToolPlan(db: Executor, { organizationId, id }: McpServer, plan: PlanTools): Promise<ToolPlan> {
  const known = await toolsOfServer(db, organizationId, id)
  const own = new Set(known.map(({ name }) => name))
  const taken = new Set((await toolNames(db, organizationId)).filter((name) => !own.has(name)))
  const decided = plan({ known, isTaken: (name) => taken.has(name) })
  for (const tool of decided.remove) await removeTool(db, tool)
  for (const tool of decided.change) await updateTool(db, tool)
  for (const tool of decided.add) await insertTool(db, tool)
  return decided
}

export const insertMcpServer = (db: Executor, server: McpServer) => db.run(insert, MCP_SERVER.rowOf(server))

const insert = insertInto('mcp_servers', MCP_SERVER.columns)

const update = updateById('mcp_servers', MCP_SERVER.columns)

const byId = rowById('mcp_servers')

const byName = statement<{ organization: OrganizationId; name: string }>()((db, p) =>
  db
    .selectFrom('mcp_servers')
    .select('id')
    .where('organization_id', '=', p('organization'))
    .where('name', '=', p('name')),
)

const all = statement<{ organization: OrganizationId }>()((db, p) =>
  db.selectFrom('mcp_servers').selectAll().where('organization_id', '=', p('organization')).orderBy('number'),
)

const removeTokens = statement<{ id: CredentialId }>()((db, p) =>
  db.deleteFrom('credentials').where('id', '=', p('id')),
)

const remove = statement<{ id: McpServerId }>()((db, p) => db.deleteFrom('mcp_servers').where('id', '=', p('id')))
