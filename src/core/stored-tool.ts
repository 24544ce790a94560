import type { OrganizationId, ToolId } from './id.ts'
import type { JsonObject } from './json.ts'
import type { McpToolLink } from './mcp-server.ts'

/**
 * A tool of an organization. One that somebody brought as source is kept, shown to models and not run before there is a
 * sandbox; one of an MCP server is called there.
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
  /** Kept and given back as it came: requirements and metadata. */
  wire: JsonObject
  /** Of tools that an MCP server has. */
  mcp?: McpToolLink
  createdAt: number
  updatedAt: number
}

export const NO_SANDBOX =
  'This tool is custom source code, which this server stores but cannot run yet. Nothing happened. Go on without it.'
