import type { OrganizationId, ToolId } from './id.ts'
import type { JsonObject } from './json.ts'
import type { McpToolLink } from './mcp-server.ts'
import type { Effects } from './tool-call.ts'

/**
 * A tool of an organization: a tool of an MCP server, which is called there, or custom source code, which runs in the
 * sandbox of the conversation that calls it.
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
  /** What a second execution of the source would mean. Absent: `once`. */
  effects?: SourceEffects
  /** Domains that the source may reach. Absent: none. */
  egress?: string[]
  createdAt: number
  updatedAt: number
}

export const SOURCE_EFFECTS = ['none', 'idempotent', 'once'] as const satisfies Effects[]

/** What the author of a source can declare. */
export type SourceEffects = (typeof SOURCE_EFFECTS)[number]
