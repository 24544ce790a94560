import { z } from 'zod'
import type { McpAuthorization } from '../../../core/mcp-oauth.ts'
import { MCP_CALL_SECONDS, type McpSecrets, type McpToolDefinition } from '../../../core/mcp-server.ts'
import { scopeCovers } from '../../../core/people.ts'
import type { ServiceContext } from '../../../service/service-context.ts'
import type { ShownMcpServer } from '../../../service/tools/mcp-servers.ts'
import { dateSchema } from '../../wire-date.ts'
import { storedObject } from './stored-json.ts'

const contactSchema = z.lazy(() =>
  z.object({
    state: z
      .enum(['reached', 'failed', 'needs_authorization', 'not_asked'])
      .describe('Result of the last attempt to read the tools of the server.'),
    checked_at: dateSchema.nullable().describe('When the server was last called.'),
    detail: z.string().nullable().describe('What went wrong, or what to do next.'),
  }),
)

const authorizationSchema = z.lazy(() =>
  z.object({
    state: z
      .enum(['none', 'needed', 'waiting', 'authorized'])
      .describe('`none`: the server has not asked for it. `waiting`: a person has not decided yet.'),
    detail: z.string().nullable().describe('Why it is needed, or why its token was not renewed last time.'),
    authorization_url: z
      .string()
      .nullable()
      .describe('The address that a person opens, while it waits; for keys of administrators only.'),
    issuer: z.string().nullable().describe('URL of the authorization server.'),
    scope: z.string().nullable(),
    expires_at: dateSchema.nullable().describe('End of the wait, or of the token, which is then renewed.'),
  }),
)

const identity = {
  id: z.string(),
  server_name: z.string(),
}

const connection = contactSchema.describe('Whether the server answers.')
const timeout_seconds = z.int().describe('Seconds that a call of one of its tools may take.')
const masked = z.record(z.string(), z.string()).nullable()

const stdioServerSchema = z.lazy(() =>
  z
    .object({
      ...identity,
      mcp_server_type: z.literal('stdio'),
      connection,
      timeout_seconds,
      command: z.string().describe('Command that starts the server.'),
      args: z.array(z.string()).describe('Arguments of the command.'),
      egress: z.array(z.string()).describe('Domains that the program may reach.'),
      env: masked.describe('Environment variables; values show their last characters only.'),
    })
    .meta({ id: 'StdioMcpServer', description: 'An MCP server that is a local program (stdio).' }),
)

const remoteServerSchema = z.lazy(() =>
  z
    .object({
      ...identity,
      mcp_server_type: z.enum(['sse', 'streamable_http']),
      connection,
      timeout_seconds,
      authorization: authorizationSchema.describe('Whether a person authorized this server there (OAuth).'),
      server_url: z.string(),
      auth_header: z.string().nullable().describe('Header that carries the token; null without a token.'),
      auth_token: z.string().nullable().describe('Last characters of the token; null without one.'),
      custom_headers: masked.describe('Headers of every request; values show their last characters only.'),
    })
    .meta({ id: 'RemoteMcpServer', description: 'An MCP server at a URL.' }),
)

export const mcpServerSchema = z.lazy(() =>
  z
    .discriminatedUnion('mcp_server_type', [stdioServerSchema, remoteServerSchema])
    .meta({ id: 'McpServer', description: 'A server of tools that agents use.' }),
)

type WireMcpServer = z.output<typeof mcpServerSchema>

export function wireMcpServer(
  { id, name, transport, shownSecrets, contact, authorization }: ShownMcpServer,
  { caller }: Pick<ServiceContext, 'caller'>,
): WireMcpServer {
  if (transport.type === 'stdio')
    return {
      id,
      server_name: name,
      mcp_server_type: transport.type,
      connection: wireContact(contact),
      timeout_seconds: transport.timeoutSeconds ?? MCP_CALL_SECONDS,
      command: transport.command,
      args: transport.args,
      egress: transport.egress ?? [],
      env: shownSecrets.env ?? null,
    }
  return {
    id,
    server_name: name,
    mcp_server_type: transport.type,
    connection: wireContact(contact),
    timeout_seconds: transport.timeoutSeconds ?? MCP_CALL_SECONDS,
    authorization: wireAuthorization(authorization, scopeCovers(caller.scope, 'admin')),
    server_url: transport.url,
    ...wireSecrets(transport.authHeader, shownSecrets),
  }
}

const wireSecrets = (authHeader: string | undefined, { token, headers }: McpSecrets) => ({
  auth_header: authHeader ?? (token === undefined ? null : 'Authorization'),
  auth_token: token ?? null,
  custom_headers: headers ?? null,
})

type WireAuthorization = z.output<typeof authorizationSchema>

const UNAUTHORIZED = { detail: null, authorization_url: null, issuer: null, scope: null, expires_at: null }

/** The person who opens the address decides with which account, so only an administrator sees it. */
function wireAuthorization(authorization: McpAuthorization, isAdministrator: boolean): WireAuthorization {
  const { state } = authorization
  switch (state) {
    case 'none':
      return { ...UNAUTHORIZED, state }
    case 'needed':
      return { ...UNAUTHORIZED, state, detail: authorization.detail }
    case 'waiting': {
      const { address, until } = authorization
      const expires_at = new Date(until).toISOString()
      return { ...UNAUTHORIZED, state, authorization_url: isAdministrator ? address : null, expires_at }
    }
    case 'authorized': {
      const { issuer, scope = null, expiresAt, refreshFailure: detail = null } = authorization
      const expires_at = expiresAt === undefined ? null : new Date(expiresAt).toISOString()
      return { ...UNAUTHORIZED, state, detail, issuer, scope, expires_at }
    }
  }
}

/** The official client ignores this field; it is for people. */
function wireContact(contact: ShownMcpServer['contact']): z.output<typeof contactSchema> {
  switch (contact.state) {
    case 'reached':
      return { state: 'reached', checked_at: new Date(contact.at).toISOString(), detail: null }
    case 'failed':
      return { state: 'failed', checked_at: new Date(contact.at).toISOString(), detail: contact.detail }
    case 'needs-authorization':
      return { state: 'needs_authorization', checked_at: new Date(contact.at).toISOString(), detail: contact.detail }
    case 'not-asked':
    case 'waits-for-sandbox':
      return {
        state: 'not_asked',
        checked_at: null,
        detail: 'The tools of the server have not been read since it was changed. Refresh it.',
      }
  }
}

const toolNames = z.lazy(() => z.array(z.string()))

export const refreshedSchema = z.lazy(() =>
  z
    .object({
      added: toolNames.describe('Names of tools that are new.'),
      updated: toolNames.describe('Names of tools that have changed.'),
      waiting_for_approval: toolNames.describe(
        'Names of tools whose definition has changed. They do not run until the change is approved.',
      ),
      deleted: toolNames.describe('Names of tools that the server no longer has.'),
    })
    .meta({ id: 'RefreshedTools', description: 'What a refresh changed about the tools of an MCP server.' }),
)

/** A definition as people compare it. */
export const definitionSchema = z.lazy(() =>
  z.object({
    name: z.string().describe('Name of the tool at its server.'),
    description: z.string(),
    parameters: storedObject.describe('JSON Schema of the arguments.'),
    effects: z.enum(['none', 'idempotent', 'verifiable', 'once']).describe('What a second execution would do.'),
  }),
)

export const wireDefinition = ({ name, description, inputSchema, effects }: McpToolDefinition) => ({
  name,
  description,
  parameters: inputSchema,
  effects,
})
