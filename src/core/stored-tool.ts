import type { OrganizationId, ToolId } from './id.ts'
import type { JsonObject } from './json.ts'
import type { McpToolLink } from './mcp-server.ts'

/**
 * A tool of an organization: a tool of an MCP server, which is called there, or custom source code, which is stored and
 * offered to models but cannot run yet (there is no sandbox for it).
 */
export type StoredTool = {
  id: ToolId
  organizationId: OrganizationId
  name: string
  description: string
  toolType: string
  sourceType: string
  sourceCode: string
  jsonSchema: JsonObject
  argsSchema?: JsonObject
  tags: string[]
  returnCharLimit: number
  needsApproval: boolean
  parallel: boolean
  /** Requirements and metadata; stored and returned unchanged. */
  wire: JsonObject
  /** Present on tools of an MCP server. */
  mcp?: McpToolLink
  createdAt: number
  updatedAt: number
}

export const NO_SANDBOX =
  'This tool is custom source code, which this server stores but cannot run yet. Nothing happened. Go on without it.'
