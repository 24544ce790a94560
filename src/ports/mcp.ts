import type { McpServerId, OrganizationId } from '../core/id.ts'
import type { Json } from '../core/json.ts'
import type { McpSecrets, McpServer, McpToolDefinition, McpToolLink } from '../core/mcp-server.ts'
import type { ToolAnswer, ToolContext } from './tool.ts'

/** `kind` tells the operator what to check: wait, the address, the token, or the server itself. */
export type McpListing =
  | { type: 'listed'; tools: McpToolDefinition[] }
  | { type: 'failed'; kind: 'timeout' | 'unreachable' | 'unauthorized' | 'unusable'; detail: string }

export type McpResource = { uri: string; name: string; description?: string; mimeType?: string }
export type McpPrompt = { name: string; description?: string; arguments: string[] }

export type McpCatalog =
  | { type: 'listed'; resources: McpResource[]; prompts: McpPrompt[] }
  | Extract<McpListing, { type: 'failed' }>

/** `pinned`: the definition that was approved; a server that lists another one is not called. */
export type McpCall = { organizationId: OrganizationId; link: McpToolLink; pinned: McpToolDefinition; input: Json }

/** Calls with the same `session` share state at the server; different sessions share none. */
export type McpCallContext = Pick<ToolContext, 'signal' | 'idempotencyKey' | 'progress'> & { session?: string }

/** Client of MCP servers. Methods never reject: failures are values. */
export type Mcp = {
  list(server: McpServer): Promise<McpListing>
  /** What else it offers. Read from the server each time, and not stored. */
  catalog(server: McpServer): Promise<McpCatalog>
  call(call: McpCall, context: McpCallContext): Promise<ToolAnswer>
  /** Closes its connections; the next call opens a new one. */
  forget(id: McpServerId): void
  /** Also deletes the folder of its program. */
  remove(id: McpServerId): Promise<void>
  seal(secrets: McpSecrets, id: McpServerId): string
  /** Undefined: sealed with a key that this home does not have. */
  secretsOf(server: McpServer): McpSecrets | undefined
  close(): Promise<void>
}
