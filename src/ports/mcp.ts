import type { McpServerId, OrganizationId } from '../core/id.ts'
import type { Json } from '../core/json.ts'
import type { McpAuthorization, McpOAuthClient, McpRevocation } from '../core/mcp-oauth.ts'
import type { McpSecrets, McpServer, McpToolDefinition, McpToolLink } from '../core/mcp-server.ts'
import type { ToolAnswer, ToolContext } from './tool.ts'

/** `kind` tells the operator what to check: wait, the address, the token, or the server itself. */
export type McpListing =
  | { type: 'listed'; tools: McpToolDefinition[] }
  | { type: 'failed'; kind: 'timeout' | 'unreachable' | 'unauthorized' | 'unusable'; detail: string }
  /** A person must authorize it. */
  | { type: 'needs-authorization'; detail: string; scope?: string }

export type McpResource = { uri: string; name: string; description?: string; mimeType?: string }
export type McpPrompt = { name: string; description?: string; arguments: string[] }

export type McpCatalog =
  | { type: 'listed'; resources: McpResource[]; prompts: McpPrompt[] }
  | Exclude<McpListing, { type: 'listed' }>

/** `pinned`: the definition that was approved; a server that lists another one is not called. */
export type McpCall = { organizationId: OrganizationId; link: McpToolLink; pinned: McpToolDefinition; input: Json }

/** Calls with the same `session` share state at the server; different sessions share none. */
export type McpCallContext = Pick<ToolContext, 'signal' | 'idempotencyKey' | 'progress'> & { session?: string }

/** A client that an administrator registered at the authorization server of an MCP server. */
export type GivenClient = McpOAuthClient & { isGiven: true }

export type BegunAuthorization =
  /** A person opens `address`, and is then sent to the redirect URL. */
  { type: 'begun'; address: string; until: number } | { type: 'failed'; detail: string }

/** What the authorization server sent with the person: a code or a refusal. */
export type AuthorizationReply = { state: string; code?: string; issuer?: string; refusal?: string }

export type FinishedAuthorization =
  /** `isRepeated`: it was authorized by an earlier request with the same reply. */
  | { type: 'authorized'; server: McpServer; isRepeated: boolean }
  | { type: 'refused'; server: McpServer; detail: string; next?: 'try-again' }
  /** Of no authorization that waits. */
  | { type: 'unknown' }

/** Authorization of this server at HTTP servers, by a person (OAuth). Failures are values. */
export type McpAuthorizations = {
  /** Repeated while it waits, it returns the same address. */
  begin(
    server: McpServer,
    request: { redirectUrl: string; client: GivenClient | undefined },
  ): Promise<BegunAuthorization>
  finish(reply: AuthorizationReply): Promise<FinishedAuthorization>
  /** Deletes the tokens of this server and has them revoked. `agreed`: the server as it was authorized, if it changed. */
  end(server: McpServer, agreed?: McpServer): Promise<McpRevocation>
  /** Reads the tokens of this server now; the function has them revoked, within seconds, after they were deleted here. */
  prepareRevocation(server: McpServer): Promise<() => Promise<McpRevocation>>
  /** Of servers of one organization, in the same order. */
  statesOf(servers: readonly McpServer[]): Promise<McpAuthorization[]>
}

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
  authorizations: McpAuthorizations
  close(): Promise<void>
}
