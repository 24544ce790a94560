import { z } from 'zod'
import { defined } from '../../core/defined.ts'
import {
  MAX_MCP_CALL_SECONDS,
  MCP_CALL_SECONDS,
  type McpStdioTransport,
  type McpTransport,
} from '../../core/mcp-server.ts'
import type { McpServerChange, NewMcpServer, ShownMcpServer } from '../../service/tools/mcp-servers.ts'

const headerName = z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}$/, 'is not a valid header name')
/** A header value, or its masked form from an answer: an ellipsis and the last characters. */
const headerValue = z.string().regex(/^…?[\t\x20-\x7e\x80-\xff]*$/, 'has characters that a header cannot contain')
const variables = z
  .record(z.string().min(1), z.string())
  .describe('Environment variables of the command, stored encrypted.')

const addressFields = {
  auth_header: headerName.nullish().describe('Header that carries the token. Default: `Authorization`.'),
  auth_token: headerValue
    .nullish()
    .describe('Token of the server, stored encrypted. A bare token in `Authorization` is sent as a bearer token.'),
  custom_headers: z.record(headerName, headerValue).nullish().describe('Headers of every request, stored encrypted.'),
}
const url = z.string().min(1).max(2_000).describe('URL of the server.')
const command = z.string().min(1).describe('Command that starts the server, in a sandbox of its own.')
/** The proxy of the sandbox checks them again. */
const egress = z
  .array(z.string().regex(/^(\*\.)?[A-Za-z0-9.-]+(:\d{1,5})?$/, 'is not a domain such as example.com or *.example.com'))
  .max(100)
  .describe('Domains that the program may reach. Default: none.')
const timeout = z
  .int()
  .min(1)
  .max(MAX_MCP_CALL_SECONDS)
  .describe(`Seconds that a call of one of its tools may take. Default: ${MCP_CALL_SECONDS}.`)
const args = z.array(z.string()).describe('Arguments of the command.')

const limits = { timeout_seconds: timeout.nullish() }

/** Clients may omit the type: a config with a command is stdio, every other one is streamable HTTP. */
const withServerType = (value: unknown): unknown => {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return value
  const { mcp_server_type: type, ...rest } = value as Record<string, unknown>
  return { ...rest, mcp_server_type: type ?? ('command' in rest ? 'stdio' : 'streamable_http') }
}

const kind = <T extends string>(type: T) => ({ mcp_server_type: z.literal(type) })

const newConfig = z.preprocess(
  withServerType,
  z.discriminatedUnion('mcp_server_type', [
    z.object({ ...kind('stdio'), command, args, env: variables.nullish(), egress: egress.nullish(), ...limits }),
    z.object({ ...kind('sse'), server_url: url, ...addressFields, ...limits }),
    z.object({ ...kind('streamable_http'), server_url: url, ...addressFields, ...limits }),
  ]),
)

const serverName = z
  .string()
  .trim()
  .min(1)
  .max(200)
  .describe('Name of the server; its tools have the tag `mcp:` and this name.')

export const newServerBody = z.object({ server_name: serverName, config: newConfig })

/**
 * Null keeps an address field and removes a secret: clients must always send the former and may want to clear the
 * latter.
 */
const changedConfig = z.object({
  mcp_server_type: z.enum(['stdio', 'sse', 'streamable_http']).nullish(),
  server_url: url.nullish(),
  command: command.nullish(),
  args: args.nullish(),
  ...addressFields,
  env: variables.nullish(),
  egress: egress.nullish(),
  ...limits,
})

export const serverChangeBody = z.object({ server_name: serverName.nullish(), config: changedConfig.nullish() })

export function newServerFrom({ server_name, config }: z.output<typeof newServerBody>): NewMcpServer {
  if (config.mcp_server_type === 'stdio') {
    const { command, args, egress } = config
    const transport: McpTransport = {
      type: 'stdio',
      command,
      args,
      ...defined({ egress: egress ?? undefined, timeoutSeconds: config.timeout_seconds ?? undefined }),
    }
    return { name: server_name, transport, secrets: config.env ? { env: config.env } : {} }
  }
  const { server_url, auth_header, auth_token, custom_headers, timeout_seconds } = config
  return {
    name: server_name,
    transport: {
      type: config.mcp_server_type,
      url: server_url,
      ...defined({ authHeader: auth_header || undefined, timeoutSeconds: timeout_seconds ?? undefined }),
    },
    secrets: defined({ token: auth_token || undefined, headers: custom_headers ?? undefined }),
  }
}

export function serverChangeFrom(
  { server_name, config }: z.output<typeof serverChangeBody>,
  { transport }: ShownMcpServer,
): McpServerChange {
  return defined({
    name: server_name || undefined,
    transport: config ? changedTransport(config, transport) : undefined,
    secrets: config ? changedSecrets(config, transport.type) : undefined,
  })
}

type ChangedConfig = z.output<typeof changedConfig>

/** A changed type is passed on, and the verb rejects it. */
function changedTransport(config: ChangedConfig, transport: McpTransport): McpTransport {
  const type = config.mcp_server_type ?? transport.type
  // Null means the default again.
  const seconds =
    config.timeout_seconds === undefined ? transport.timeoutSeconds : (config.timeout_seconds ?? undefined)
  const timeoutSeconds = defined({ timeoutSeconds: seconds })
  if (type === 'stdio') {
    const before: McpStdioTransport = transport.type === 'stdio' ? transport : { type, command: '', args: [] }
    const command = config.command ?? before.command
    const egress = config.egress ?? before.egress
    return { type, command, args: config.args ?? before.args, ...defined({ egress }), ...timeoutSeconds }
  }
  const before = transport.type === 'stdio' ? { url: config.server_url ?? '' } : transport
  const authHeader = 'authHeader' in before ? before.authHeader : undefined
  const header = config.auth_header === undefined ? authHeader : (config.auth_header ?? undefined)
  const url = config.server_url ?? before.url
  return { type, url, ...defined({ authHeader: header || undefined }), ...timeoutSeconds }
}

function changedSecrets(
  { auth_token, custom_headers, env }: ChangedConfig,
  type: McpTransport['type'],
): NonNullable<McpServerChange['secrets']> {
  const sent = type === 'stdio' ? { env } : { token: auth_token === '' ? null : auth_token, headers: custom_headers }
  return Object.fromEntries(Object.entries(sent).filter(([, value]) => value !== undefined))
}
