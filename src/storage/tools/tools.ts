import { type SqlBool, sql } from 'kysely'
import type { McpServerId, OrganizationId } from '../../core/id.ts'
import type { StoredTool } from '../../core/stored-tool.ts'
import type { StoredToolStore } from '../../ports/memory-store.ts'
import type { Database } from '../database/database.ts'
import { listing } from '../database/list-page.ts'
import type { NewRow } from '../database/schema.ts'
import { type Executor, statement } from '../database/statement.ts'

export function toolStore({ read, write }: Database): StoredToolStore {
  return {
    create: (tool) =>
      write({
        key: tool.id,
        async work(db) {
          if (await db.get(byName, { organization: tool.organizationId, name: tool.name })) return 'name-taken' as const
          await insertTool(db, tool)
          return 'created' as const
        },
        recall: async (db) =>
          (await db.get(byId, { organization: tool.organizationId, id: tool.id })) ? 'created' : undefined,
      }),

    get: (organizationId, id) =>
      read(async (db) => {
        const row = await db.get(byId, { organization: organizationId, id })
        return row && toolOf(row)
      }),

    named: (organizationId, names) =>
      read(async (db) => {
        const found: StoredTool[] = []
        for (const name of new Set(names)) {
          const row = await db.get(byName, { organization: organizationId, name })
          if (row) found.push(toolOf(row))
        }
        return found
      }),

    all: (organizationId) => read(async (db) => (await db.all(all, { organization: organizationId })).map(toolOf)),

    update: (organizationId, id, edit) =>
      write({
        key: id,
        async work(db) {
          const row = await db.get(forUpdate, { organization: organizationId, id })
          if (!row) return undefined
          const before = toolOf(row)
          const tool = edit(before)
          if (tool.name !== before.name) {
            if (await db.get(byName, { organization: organizationId, name: tool.name })) return 'name-taken' as const
            await renameOnAgents(db, { organizationId, from: before.name, to: tool.name })
          }
          await updateTool(db, tool)
          return tool
        },
      }),

    delete: (organizationId, id) =>
      write({
        key: id,
        async work(db) {
          const row = await db.get(forUpdate, { organization: organizationId, id })
          if (!row) return false
          await removeTool(db, toolOf(row))
          return true
        },
      }),
  }
}

export const insertTool = (db: Executor, tool: StoredTool) => db.run(insert, rowOf(tool))

export const updateTool = (db: Executor, tool: StoredTool) => db.run(update, rowOf(tool))

/** Made, or put in the place of the tool that has its name. */
export async function putTool(db: Executor, tool: StoredTool): Promise<void> {
  const row = await db.get(byName, { organization: tool.organizationId, name: tool.name })
  if (!row) await insertTool(db, tool)
  else await updateTool(db, { ...tool, id: row.id, createdAt: toolOf(row).createdAt })
}

/** Agents no longer have it. */
export async function removeTool(db: Executor, { organizationId, id, name }: StoredTool): Promise<void> {
  await renameOnAgents(db, { organizationId, from: name })
  await db.run(remove, { id })
}

export async function toolsOfServer(
  db: Executor,
  organizationId: OrganizationId,
  server: McpServerId,
): Promise<StoredTool[]> {
  return (await db.all(ofServer, { organization: organizationId, server })).map(toolOf)
}

export async function toolNames(db: Executor, organizationId: OrganizationId): Promise<string[]> {
  return (await db.all(names, { organization: organizationId })).map(({ name }) => name)
}

type Renaming = { organizationId: OrganizationId; from: string; to?: string }

/** Agents have tools by name: without a new one they no longer have it. */
async function renameOnAgents(db: Executor, { organizationId, from, to }: Renaming): Promise<void> {
  const rows = await db.all(agentsWith, { organization: organizationId, pattern: listing(from) })
  for (const { id, tools } of rows) {
    const names = (JSON.parse(tools) as string[]).flatMap((name) => (name !== from ? [name] : to ? [to] : []))
    await db.run(setTools, { id, tools: JSON.stringify(names) })
  }
}

type Row = NewRow<'tools'>

function rowOf({ id, organizationId, name, toolType, createdAt, updatedAt, ...body }: StoredTool): Row {
  const row = { id, organization_id: organizationId, name, tool_type: toolType, body: JSON.stringify(body) }
  return { ...row, mcp_server_id: body.mcp?.serverId ?? null, created_at: createdAt, updated_at: updatedAt }
}

const toolOf = (row: Row): StoredTool => ({
  ...JSON.parse(row.body),
  id: row.id,
  organizationId: row.organization_id,
  name: row.name,
  toolType: row.tool_type,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
})

const insert = statement<Row>()((db, p) =>
  db.insertInto('tools').values({
    id: p('id'),
    organization_id: p('organization_id'),
    name: p('name'),
    tool_type: p('tool_type'),
    mcp_server_id: p('mcp_server_id'),
    body: p('body'),
    created_at: p('created_at'),
    updated_at: p('updated_at'),
  }),
)

const update = statement<Row>()((db, p) =>
  db
    .updateTable('tools')
    .set({ name: p('name'), body: p('body'), updated_at: p('updated_at') })
    .where('id', '=', p('id')),
)

const byId = statement<{ organization: string; id: string }>()((db, p) =>
  db.selectFrom('tools').selectAll().where('id', '=', p('id')).where('organization_id', '=', p('organization')),
)

const forUpdate = statement<{ organization: string; id: string }>()((db, p, { lock }) =>
  lock(db.selectFrom('tools').selectAll().where('id', '=', p('id')).where('organization_id', '=', p('organization'))),
)

const byName = statement<{ organization: string; name: string }>()((db, p) =>
  db.selectFrom('tools').selectAll().where('organization_id', '=', p('organization')).where('name', '=', p('name')),
)

const all = statement<{ organization: string }>()((db, p) =>
  db.selectFrom('tools').selectAll().where('organization_id', '=', p('organization')).orderBy('number'),
)

const ofServer = statement<{ organization: string; server: string }>()((db, p) =>
  db
    .selectFrom('tools')
    .selectAll()
    .where('mcp_server_id', '=', p('server'))
    .where('organization_id', '=', p('organization'))
    .orderBy('number'),
)

const names = statement<{ organization: string }>()((db, p) =>
  db.selectFrom('tools').select('name').where('organization_id', '=', p('organization')),
)

const remove = statement<{ id: string }>()((db, p) => db.deleteFrom('tools').where('id', '=', p('id')))

const agentsWith = statement<{ organization: string; pattern: string }>()((db, p, { lock }) =>
  lock(
    db
      .selectFrom('agents')
      .select(['id', 'tools'])
      .where('organization_id', '=', p('organization'))
      .where(sql<SqlBool>`tools like ${p('pattern')} escape '\\'`)
      .orderBy('number'),
  ),
)

const setTools = statement<{ id: string; tools: string }>()((db, p) =>
  db
    .updateTable('agents')
    .set({ tools: p('tools') })
    .where('id', '=', p('id')),
)
