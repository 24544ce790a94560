import { maskedSecret } from './credential.ts'
import { defined } from './defined.ts'
import { DEFAULT_ORGANIZATION, type McpServerId, type OrganizationId } from './id.ts'
import type { JsonObject } from './json.ts'
import type { McpOAuth } from './mcp-oauth.ts'
import type { Effects } from './tool-call.ts'

/** How to connect to a server. Secrets are stored separately. */
export type McpTransport = McpHttpTransport | McpStdioTransport

/** `egress`: the domains that the program may reach; none without it. */
export type McpStdioTransport = {
  type: 'stdio'
  command: string
  args: string[]
  egress?: string[]
  timeoutSeconds?: number
}

export type McpHttpTransport = {
  type: 'streamable_http' | 'sse'
  url: string
  authHeader?: string
  timeoutSeconds?: number
}

/** How long a call of a server may take that states no limit of its own, and the highest limit. */
export const MCP_CALL_SECONDS = 120
export const MAX_MCP_CALL_SECONDS = 3_600

/** Stored encrypted, bound to the server's id. */
export type McpSecrets = {
  token?: string
  headers?: Record<string, string>
  env?: Record<string, string>
  oauth?: McpOAuth
}

/** The result of the last attempt to list the tools of a server. */
export type McpContact =
  | { state: 'reached'; at: number }
  | { state: 'failed'; at: number; detail: string }
  /** `scope`: what it asked for. */
  | { state: 'needs-authorization'; at: number; detail: string; scope?: string }
  /** The server was changed since the last attempt. */
  | { state: 'not-asked' }
  /** Of rows that were written before programs had a sandbox. */
  | { state: 'waits-for-sandbox' }

export type McpServer = {
  id: McpServerId
  organizationId: OrganizationId
  name: string
  transport: McpTransport
  /** Encrypted `McpSecrets`. */
  sealed?: string
  contact: McpContact
  /** Grows with each change of address or secrets; connections and tool lists of an older revision are stale. */
  revision: number
  createdAt: number
  updatedAt: number
}

/** A tool as its server describes it. */
export type McpToolDefinition = { name: string; description: string; inputSchema: JsonObject; effects: Effects }

/** Links a stored tool to the tool of its MCP server. */
export type McpToolLink = {
  serverId: McpServerId
  toolName: string
  effects: Effects
  /** What its server lists now, if it is not what was approved: calls do not run until it is approved. */
  changed?: McpToolChange
}

type McpToolChange = { definition: McpToolDefinition; since: number }

type McpToolHints = { readOnlyHint?: boolean | undefined; idempotentHint?: boolean | undefined }

/** Hints are trusted because an administrator chose the server. Without a hint a call is never repeated. */
export function effectsFromHints(hints: McpToolHints | undefined): Effects {
  if (hints?.readOnlyHint) return 'none'
  return hints?.idempotentHint ? 'idempotent' : 'once'
}

/** Secrets for display: the names, and the last characters of the values. */
export const maskedSecrets = ({ token, headers, env }: McpSecrets): McpSecrets =>
  defined({
    token: token === undefined ? undefined : maskedSecret(token),
    headers: headers ? maskedValues(headers) : undefined,
    env: env ? maskedValues(env) : undefined,
  })

const maskedValues = (values: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, maskedSecret(value)]))

/** A client that sends a masked value back has not changed it: the stored value is used. */
export function restoreMaskedSecrets(sent: McpSecrets, stored: McpSecrets): McpSecrets {
  const masked = maskedSecrets(stored)
  return {
    ...sent,
    ...defined({
      token: sent.token !== undefined && sent.token === masked.token ? stored.token! : undefined,
      headers: sent.headers
        ? restoreMaskedValues(sent.headers, { stored: stored.headers, masked: masked.headers })
        : undefined,
      env: sent.env ? restoreMaskedValues(sent.env, { stored: stored.env, masked: masked.env }) : undefined,
    }),
  }
}

/** Whether any value is masked. */
export const hasMaskedValue = ({ token = '', headers, env }: McpSecrets): boolean =>
  [token, ...Object.values(headers ?? {}), ...Object.values(env ?? {})].some((value) => value.startsWith('…'))

type Values = Record<string, string>

const restoreMaskedValues = (
  sent: Values,
  { stored = {}, masked = {} }: { stored: Values | undefined; masked: Values | undefined },
): Values =>
  Object.fromEntries(
    Object.entries(sent).map(([name, value]) => [name, value === masked[name] ? (stored[name] ?? value) : value]),
  )

/** The headers of every request. A bare token in `Authorization` gets the scheme `Bearer`. */
export function requestHeaders(
  { authHeader = 'Authorization' }: McpHttpTransport,
  { token, headers }: McpSecrets,
): Values {
  if (token === undefined) return { ...headers }
  const isBare = authHeader.toLowerCase() === 'authorization' && !/\s/.test(token.trim())
  return { ...headers, [authHeader]: isBare ? `Bearer ${token.trim()}` : token }
}

/** A server with a token or a header for it is not asked for OAuth. */
export const hasOwnToken = ({ token, headers }: McpSecrets): boolean =>
  token !== undefined || Object.keys(headers ?? {}).some((name) => name.toLowerCase() === 'authorization')

/**
 * Only operators register servers of the default organization: these may have private addresses and be stdio programs.
 * Servers of other organizations must be on the public internet.
 */
export const isOperatorServer = ({ organizationId }: Pick<McpServer, 'organizationId'>): boolean =>
  organizationId === DEFAULT_ORGANIZATION

/** What is wrong with the URL itself; it is not resolved here. */
export function urlFault(text: string): string | undefined {
  if (!URL.canParse(text)) return 'it is not a valid URL'
  const { protocol, username, password } = new URL(text)
  if (protocol !== 'http:' && protocol !== 'https:') return `${protocol} is not http: or https:`
  return username || password
    ? 'it must not contain a user name or password; use a token or headers instead'
    : undefined
}

/** The result of a call of a tool whose definition waits for approval. */
export const CHANGED_DEFINITION =
  'The MCP server of this tool has changed its definition, so an administrator must approve it first (holdfast mcp approve). The tool did not run. Continue without it.'
