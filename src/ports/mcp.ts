import type { McpServerId, OrganizationId } from '../core/id.ts'
import type { Json } from '../core/json.ts'
import type { McpSecrets, McpServer, McpToolDefinition, McpToolLink } from '../core/mcp-server.ts'
import type { ToolAnswer, ToolContext } from './tool.ts'

/** `kind` says whose turn it is: to wait, to look at the address, at the token, or at the server itself. */
export type McpListing =
  | { type: 'listed'; tools: McpToolDefinition[] }
  | { type: 'failed'; kind: 'timeout' | 'unreachable' | 'unauthorized' | 'unusable'; detail: string }

export type McpCall = { organizationId: OrganizationId; link: McpToolLink; input: Json }

/** Calls of one `session` may find what earlier ones left at the server; those of two sessions never meet. */
export type McpCallContext = Pick<ToolContext, 'signal' | 'idempotencyKey' | 'progress'> & { session?: string }

/** Servers that have tools. Nothing here rejects: what goes wrong is an answer. */
export type Mcp = {
  list(server: McpServer): Promise<McpListing>
  call(call: McpCall, context: McpCallContext): Promise<ToolAnswer>
  /** Its connections are closed; the next call opens its own. */
  forget(id: McpServerId): void
  seal(secrets: McpSecrets, id: McpServerId): string
  /** Undefined: sealed with a key that is not here. */
  secretsOf(server: McpServer): McpSecrets | undefined
  close(): Promise<void>
}
