import { type SqlBool, sql } from 'kysely'
import type { McpServerId, OrganizationId, ToolId } from '../../core/id.ts'
import type { StoredTool } from '../../core/stored-tool.ts'
import type { StoredToolStore } from '../../ports/tool-store.ts'
import type { Database } from '../database/database.ts'
import { markTargetDeleted } from '../database/imported-targets.ts'
import { insertInto, rowById, updateById } from '../database/row-statements.ts'
import { type Executor, statement } from '../database/statement.ts'
import { listText } from '../rows/row-mapping.ts'
import { TOOL_COLUMNS, toolOf, toolRowOf } from '../rows/tool-row.ts'
import { editNamed } from './edit-named.ts'

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
        findCommitted: async (db) =>
          (await db.get(byId.plain, { organization: tool.organizationId, id: tool.id })) ? 'created' : undefined,
      }),

    get: (organizationId, id) =>
      read(async (db) => {
        const row = await db.get(byId.plain, { organization: organizationId, id })
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
          const row = await db.get(byId.locked, { organization: organizationId, id })
          if (!row) return undefined
          return editNamed(toolOf(row), {
            edit,
            isTaken: (name) => db.get(byName, { organization: organizationId, name }),
            rename: (before, after) => renameOnAgents(db, { organizationId, from: before.name, to: after.name }),
            save: (tool) => updateTool(db, tool),
          })
        },
      }),

    delete: (organizationId, id) =>
      write({
        key: id,
        async work(db) {
          const row = await db.get(byId.locked, { organization: organizationId, id })
          if (!row) return false
          await removeTool(db, toolOf(row))
          return true
        },
      }),
  }
}

export const insertTool = (db: Executor, tool: StoredTool) => db.run(insert, toolRowOf(tool))

export const updateTool = (db: Executor, tool: StoredTool) => db.run(update, toolRowOf(tool))

/** Inserts the tool, or replaces the one with the same name. */
export async function upsertTool(db: Executor, tool: StoredTool): Promise<void> {
  const row = await db.get(byName, { organization: tool.organizationId, name: tool.name })
  if (!row) await insertTool(db, tool)
  else await updateTool(db, { ...tool, id: row.id, createdAt: toolOf(row).createdAt })
}

/** Also detaches it from agents. */
export async function removeTool(db: Executor, { organizationId, id, name }: StoredTool): Promise<void> {
  await renameOnAgents(db, { organizationId, from: name })
  await markTargetDeleted(db, id)
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

type ToolRename = { organizationId: OrganizationId; from: string; to?: string }

/** Agents reference tools by name: without `to`, the tool is removed from them. */
async function renameOnAgents(db: Executor, { organizationId, from, to }: ToolRename): Promise<void> {
  const rows = await db.all(agentsWith, { organization: organizationId, tool: from })
  for (const { id, tools } of rows) {
    const names = (JSON.parse(tools) as string[]).flatMap((name) => (name !== from ? [name] : to ? [to] : []))
    await db.run(setTools, { id, tools: listText(names) })
  }
}

const insert = insertInto('tools', TOOL_COLUMNS)

const update = updateById('tools', ['name', 'body', 'updated_at'])

const byId = rowById('tools')

const byName = statement<{ organization: OrganizationId; name: string }>()((db, p) =>
  db.selectFrom('tools').selectAll().where('organization_id', '=', p('organization')).where('name', '=', p('name')),
)

const all = statement<{ organization: OrganizationId }>()((db, p) =>
  db.selectFrom('tools').selectAll().where('organization_id', '=', p('organization')).orderBy('number'),
)

const ofServer = statement<{ organization: OrganizationId; server: McpServerId }>()((db, p) =>
  db
    .selectFrom('tools')
    .selectAll()
    .where('mcp_server_id', '=', p('server'))
    .where('organization_id', '=', p('organization'))
    .orderBy('number'),
)

const names = statement<{ organization: OrganizationId }>()((db, p) =>
  db.selectFrom('tools').select('name').where('organization_id', '=', p('organization')),
)

const remove = statement<{ id: ToolId }>()((db, p) => db.deleteFrom('tools').where('id', '=', p('id')))

const agentsWith = statement<{ organization: OrganizationId; tool: string }>()((db, p, { lock, listItems }) =>
  lock(
    db
      .selectFrom('agents')
      .select(['id', 'tools'])
      .where('organization_id', '=', p('organization'))
      .where(sql<SqlBool>`exists (select 1 from ${listItems(sql`agents.tools`)} where item.value = ${p('tool')})`)
      .orderBy('number'),
  ),
)

const setTools = updateById('agents', ['tools'])
