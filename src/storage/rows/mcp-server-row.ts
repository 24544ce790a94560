import type { McpServer } from '../../core/mcp-server.ts'
import { type RowOf, rowMapper } from './row-mapping.ts'

export const MCP_SERVER = rowMapper<McpServer>()({
  id: 'id',
  organizationId: 'organization_id',
  name: 'name',
  transport: { json: 'place' },
  sealed: 'sealed_secrets',
  contact: { json: 'contact' },
  revision: 'revision',
  createdAt: 'created_at',
  updatedAt: 'updated_at',
})

export type McpServerRow = RowOf<typeof MCP_SERVER>
