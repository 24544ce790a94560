import type { McpServerId } from '../../core/id.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { type McpSecrets, type McpServer, NO_SANDBOX_FOR_SERVER, requestHeaders } from '../../core/mcp-server.ts'
import type { Mcp, McpCall, McpCallContext, McpListing } from '../../ports/mcp.ts'
import type { McpServerStore } from '../../ports/mcp-store.ts'
import type { Outbound } from '../../ports/safe-fetch.ts'
import type { SecretBox } from '../../ports/secret-box.ts'
import type { ToolAnswer } from '../../ports/tool.ts'
import { reachOfServer } from './allowed-address.ts'
import { classifyCallError, errorDetail } from './call-fault.ts'
import type { McpCallResult, McpEndpoint } from './connection.ts'
import { type McpConnectionPool, newMcpConnectionPool, type PooledConnection } from './connection-pool.ts'
import { listTools } from './list-tools.ts'
import { toToolAnswer } from './to-tool-answer.ts'

export type McpClientDeps = {
  servers: Pick<McpServerStore, 'get'>
  box: SecretBox
  /** Without timeouts: event streams are long and may be silent. */
  fetch: Outbound['fetch']
  /** Timeouts in milliseconds; tests set shorter ones. */
  connectMs?: number
  listMs?: number
  idleMs?: number
}

const CONNECT_MS = 20_000
const LIST_MS = 30_000

/** Client of MCP servers over HTTP. Stdio servers can be registered but are not started. */
export function newMcpClient({ servers, box, fetch, ...times }: McpClientDeps): Mcp {
  const { connectMs = CONNECT_MS, listMs = LIST_MS, idleMs } = times
  const pool: McpConnectionPool = newMcpConnectionPool(idleMs)

  const secretsOf = ({ id, sealed }: McpServer): McpSecrets | undefined => {
    if (sealed === undefined) return {}
    const plain = box.open(sealed, id)
    return plain === undefined ? undefined : (JSON.parse(plain) as McpSecrets)
  }

  return {
    secretsOf,
    seal: (secrets, id) => box.seal(JSON.stringify(secrets), id),
    forget: (id) => pool.drop(keyPrefix(id)),
    close: () => pool.close(),

    async list(server) {
      const resolved = resolveEndpoint(server, { secretsOf, fetch })
      if (resolved.type !== 'endpoint') return { type: 'failed', kind: 'unusable', detail: resolved.detail }
      const signal = AbortSignal.timeout(listMs)
      try {
        // A separate session: a listing must not share state with a conversation.
        const key = `${keyPrefix(server.id)}listing`
        const pooled = await pool.acquire({ key, endpoint: resolved.endpoint }, { signal, fresh: true })
        try {
          return { type: 'listed', tools: await listTools(pooled.connection, signal) }
        } finally {
          pooled.release('close')
        }
      } catch (error) {
        return toFailedListing(error, { isLate: signal.aborted, listMs, hide: resolved.hide })
      }
    },

    async call({ organizationId, link, input }, context) {
      const server = await servers.get(organizationId, link.serverId).catch(errorDetail)
      if (typeof server === 'string')
        return failure(`The MCP server of this tool cannot be looked up: ${server}. Nothing happened.`)
      if (!server) return failure('The MCP server of this tool was removed. Nothing happened.')
      const resolved = resolveEndpoint(server, { secretsOf, fetch })
      if (resolved.type !== 'endpoint') return failure(resolved.detail)
      const answer = await callAt(resolved.endpoint, { server, link, input, context })
      return { ...answer, output: resolved.hide(answer.output) }
    },
  }

  type ServerCall = Pick<McpCall, 'link' | 'input'> & { server: McpServer; context: McpCallContext }

  async function callAt(endpoint: McpEndpoint, { server, link, input, context }: ServerCall): Promise<ToolAnswer> {
    const target = { key: `${keyPrefix(server.id)}${server.revision}/${context.session ?? 'alone'}`, endpoint }
    for (let round = 0; ; round++) {
      const pooled = await acquireConnection(pool, target, { signal: context.signal, fresh: round > 0, connectMs })
      if ('fault' in pooled)
        return failure(`The MCP server ${server.name} cannot be used: ${pooled.fault} Nothing happened.`)
      const request = { name: link.toolName, arguments: toObject(input), idempotencyKey: context.idempotencyKey }
      const { signal, progress: onProgress } = context
      const end = await pooled.connection.call(request, { signal, onProgress })
      pooled.release(context.session !== undefined && isHealthy(end) ? 'keep' : 'close')
      // A reused connection may have died meanwhile. Retry only if the first attempt had no effect, or may happen
      // twice.
      const isStale = end.type === 'not-sent' || (end.type === 'lost' && link.effects !== 'once')
      if (round === 0 && pooled.isReused && isStale) continue
      return toAnswer(end, { server: server.name, isLate: signal.reason === 'timeout' })
    }
  }
}

type ResolvedEndpoint =
  | { type: 'endpoint'; endpoint: McpEndpoint; hide(text: string): string }
  | { type: 'no-sandbox' | 'sealed'; detail: string }

function resolveEndpoint(
  server: McpServer,
  { secretsOf, fetch }: Pick<Mcp, 'secretsOf'> & Pick<McpClientDeps, 'fetch'>,
): ResolvedEndpoint {
  const { transport, name } = server
  if (transport.type === 'stdio') return { type: 'no-sandbox', detail: NO_SANDBOX_FOR_SERVER }
  const secrets = secretsOf(server)
  if (!secrets) {
    const detail = `The credentials of the MCP server ${name} are encrypted with a key that this server does not have. Set them again. Nothing happened.`
    return { type: 'sealed', detail }
  }
  const { type, url } = transport
  const requestOptions = { headers: requestHeaders(transport, secrets), fetch: fetch[reachOfServer(server)] }
  return { type: 'endpoint', endpoint: { type, url, ...requestOptions }, hide: newRedactor(secrets) }
}

const MIN_REDACTED_CHARACTERS = 6

/** Redacts secrets that a server echoes. Short values are skipped: they could be ordinary words. */
function newRedactor({ token, headers }: McpSecrets): (text: string) => string {
  const bare = token?.replace(/^\S+\s+/, '')
  const values = [token, bare, ...Object.values(headers ?? {})].filter(
    (value) => (value?.length ?? 0) >= MIN_REDACTED_CHARACTERS,
  )
  return (text) => values.reduce<string>((shown, value) => shown.replaceAll(value!, '…'), text)
}

const keyPrefix = (id: McpServerId): string => `${id}/`

type AcquireOptions = { signal: AbortSignal; fresh: boolean; connectMs: number }

async function acquireConnection(
  pool: McpConnectionPool,
  target: Parameters<McpConnectionPool['acquire']>[0],
  { signal, fresh, connectMs }: AcquireOptions,
): Promise<PooledConnection | { fault: string }> {
  const late = AbortSignal.timeout(connectMs)
  try {
    return await pool.acquire(target, { signal: AbortSignal.any([signal, late]), fresh })
  } catch (error) {
    if (signal.aborted) return { fault: 'the call was stopped while connecting.' }
    return { fault: late.aborted ? `it did not answer within ${connectMs} ms.` : `${errorDetail(error)}.` }
  }
}

function toFailedListing(
  error: unknown,
  { isLate, listMs, hide }: { isLate: boolean; listMs: number; hide(text: string): string },
): McpListing {
  if (isLate) return { type: 'failed', kind: 'timeout', detail: `The MCP server did not answer within ${listMs} ms.` }
  const { status, type, detail: text } = classifyCallError(error)
  const detail = hide(text)
  if (status === 401 || status === 403)
    return {
      type: 'failed',
      kind: 'unauthorized',
      detail: `The MCP server rejected the token (HTTP ${status}): ${detail}`,
    }
  return { type: 'failed', kind: status === undefined && type === 'not-sent' ? 'unreachable' : 'unusable', detail }
}

/** Whether the session can be used again after this result. */
const isHealthy = ({ type }: McpCallResult): boolean => type === 'answered' || type === 'declined'

/** `isLate`: the call was stopped by its timeout, not by a person. */
function toAnswer(end: McpCallResult, { server, isLate }: { server: string; isLate: boolean }): ToolAnswer {
  switch (end.type) {
    case 'answered':
      return toToolAnswer(end.result)
    case 'declined':
      return failure(`The MCP server ${server} declined: ${end.detail}`)
    case 'unreadable':
      return failure(`The call ran, but ${end.detail}.`)
    case 'not-sent':
      return failure(`The MCP server ${server} did not take the call: ${end.detail}. Nothing happened.`)
    case 'lost':
      return unknown(`The connection to the MCP server ${server} was lost during this call: ${end.detail}.`)
    case 'stopped':
      return unknown(isLate ? `The MCP server ${server} did not answer in time.` : 'The call was stopped.')
  }
}

const failure = (output: string): ToolAnswer => ({ status: 'error', output })

const unknown = (what: string): ToolAnswer => ({
  status: 'unknown',
  output: `${what} It may or may not have taken effect. Check before repeating.`,
})

const toObject = (input: Json): JsonObject =>
  input !== null && typeof input === 'object' && !Array.isArray(input) ? input : {}
