import type { McpServerId } from '../../core/id.ts'
import type { StoredTool } from '../../core/stored-tool.ts'
import { type RowOf, rowMapper } from './row-mapping.ts'

const FIELDS = rowMapper<Pick<StoredTool, 'id' | 'organizationId' | 'name' | 'toolType' | 'createdAt' | 'updatedAt'>>()(
  {
    id: 'id',
    organizationId: 'organization_id',
    name: 'name',
    toolType: 'tool_type',
    createdAt: 'created_at',
    updatedAt: 'updated_at',
  },
)

/** `body` is JSON of all other fields. The server is also a column, for queries. */
export type ToolRow = RowOf<typeof FIELDS> & { mcp_server_id: McpServerId | null; body: string }

export const TOOL_COLUMNS = [...FIELDS.columns, 'mcp_server_id', 'body'] as const

export const toolRowOf = (tool: StoredTool): ToolRow => ({
  ...FIELDS.rowOf(tool),
  mcp_server_id: tool.mcp?.serverId ?? null,
  body: FIELDS.restAsJson(tool) ?? '{}',
})

export const toolOf = (row: ToolRow): StoredTool => ({ ...JSON.parse(row.body), ...FIELDS.objectOf(row) })
