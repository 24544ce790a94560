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
  /** Without limits of its own: streams are long, and silent. */
  fetch: Outbound['fetch']
  /** Deadlines, in milliseconds; the usual ones unless a test is in a hurry. */
  connectMs?: number
  listMs?: number
  idleMs?: number
}

const CONNECT_MS = 20_000
const LIST_MS = 30_000

/** MCP servers over HTTP. Programs (stdio) are known and not started. */
export function newMcpClient({ servers, box, fetch, ...times }: McpClientDeps): Mcp {
  const { connectMs = CONNECT_MS, listMs = LIST_MS, idleMs } = times
  const kept: McpConnectionPool = newMcpConnectionPool(idleMs)

  const secretsOf = ({ id, sealed }: McpServer): McpSecrets | undefined => {
    if (sealed === undefined) return {}
    const plain = box.open(sealed, id)
    return plain === undefined ? undefined : (JSON.parse(plain) as McpSecrets)
  }

  return {
    secretsOf,
    seal: (secrets, id) => box.seal(JSON.stringify(secrets), id),
    forget: (id) => kept.drop(prefixOf(id)),
    close: () => kept.close(),

    async list(server) {
      const reach = reachOf(server, { secretsOf, fetch })
      if (reach.type !== 'endpoint') return { type: 'failed', kind: 'unusable', detail: reach.detail }
      const signal = AbortSignal.timeout(listMs)
      try {
        // Of its own: a listing must not find, or leave behind, what a conversation did.
        const key = `${prefixOf(server.id)}listing`
        const taken = await kept.acquire({ key, endpoint: reach.endpoint }, { signal, fresh: true })
        try {
          return { type: 'listed', tools: await listTools(taken.connection, signal) }
        } finally {
          taken.release('close')
        }
      } catch (error) {
        return listingFault(error, { isLate: signal.aborted, listMs, hide: reach.hide })
      }
    },

    async call({ organizationId, link, input }, context) {
      const server = await servers.get(organizationId, link.serverId).catch(errorDetail)
      if (typeof server === 'string')
        return failure(`The MCP server of this tool cannot be looked up: ${server}. Nothing happened.`)
      if (!server) return failure('The MCP server of this tool was removed. Nothing happened.')
      const reach = reachOf(server, { secretsOf, fetch })
      if (reach.type !== 'endpoint') return failure(reach.detail)
      const answer = await callAt(reach.endpoint, { server, link, input, context })
      return { ...answer, output: reach.hide(answer.output) }
    },
  }

  type Asked = Pick<McpCall, 'link' | 'input'> & { server: McpServer; context: McpCallContext }

  async function callAt(endpoint: McpEndpoint, { server, link, input, context }: Asked): Promise<ToolAnswer> {
    const target = { key: `${prefixOf(server.id)}${server.revision}/${context.session ?? 'alone'}`, endpoint }
    for (let round = 0; ; round++) {
      const taken = await taking(kept, target, { signal: context.signal, fresh: round > 0, connectMs })
      if ('fault' in taken)
        return failure(`The MCP server ${server.name} cannot be used: ${taken.fault} Nothing happened.`)
      const request = { name: link.toolName, arguments: objectOf(input), idempotencyKey: context.idempotencyKey }
      const { signal, progress: onProgress } = context
      const end = await taken.connection.call(request, { signal, onProgress })
      taken.release(context.session !== undefined && isHealthy(end) ? 'keep' : 'close')
      // What was kept may have died meanwhile. A call is sent again only if the first cannot have happened, or may twice.
      const isStale = end.type === 'not-sent' || (end.type === 'lost' && link.effects !== 'once')
      if (round === 0 && taken.isReused && isStale) continue
      return answerOf(end, { server: server.name, isLate: signal.reason === 'timeout' })
    }
  }
}

type ResolvedEndpoint =
  | { type: 'endpoint'; endpoint: McpEndpoint; hide(text: string): string }
  | { type: 'no-sandbox' | 'sealed'; detail: string }

function reachOf(
  server: McpServer,
  { secretsOf, fetch }: Pick<Mcp, 'secretsOf'> & Pick<McpClientDeps, 'fetch'>,
): ResolvedEndpoint {
  const { place, name } = server
  if (place.type === 'stdio') return { type: 'no-sandbox', detail: NO_SANDBOX_FOR_SERVER }
  const secrets = secretsOf(server)
  if (!secrets) {
    const detail = `What is needed to talk to the MCP server ${name} was sealed with a key that is not here. Nothing happened.`
    return { type: 'sealed', detail }
  }
  const { type, url } = place
  const way = { headers: requestHeaders(place, secrets), fetch: fetch[reachOfServer(server)] }
  return { type: 'endpoint', endpoint: { type, url, ...way }, hide: hiding(secrets) }
}

const SHORTEST_HIDDEN = 6

/** Servers sometimes say what they were sent. Short values are words of every day and hide nothing. */
function hiding({ token, headers }: McpSecrets): (text: string) => string {
  const bare = token?.replace(/^\S+\s+/, '')
  const values = [token, bare, ...Object.values(headers ?? {})].filter(
    (value) => (value?.length ?? 0) >= SHORTEST_HIDDEN,
  )
  return (text) => values.reduce<string>((shown, value) => shown.replaceAll(value!, '…'), text)
}

const prefixOf = (id: McpServerId): string => `${id}/`

type AcquireOptions = { signal: AbortSignal; fresh: boolean; connectMs: number }

async function taking(
  kept: McpConnectionPool,
  target: Parameters<McpConnectionPool['acquire']>[0],
  { signal, fresh, connectMs }: AcquireOptions,
): Promise<PooledConnection | { fault: string }> {
  const late = AbortSignal.timeout(connectMs)
  try {
    return await kept.acquire(target, { signal: AbortSignal.any([signal, late]), fresh })
  } catch (error) {
    if (signal.aborted) return { fault: 'the call was stopped while it was being reached.' }
    return { fault: late.aborted ? `it did not answer within ${connectMs} ms.` : `${errorDetail(error)}.` }
  }
}

function listingFault(
  error: unknown,
  { isLate, listMs, hide }: { isLate: boolean; listMs: number; hide(text: string): string },
): McpListing {
  if (isLate) return { type: 'failed', kind: 'timeout', detail: `It did not answer within ${listMs} ms.` }
  const { status, type, detail: words } = classifyCallError(error)
  const detail = hide(words)
  if (status === 401 || status === 403)
    return { type: 'failed', kind: 'unauthorized', detail: `It wants another token (HTTP ${status}): ${detail}` }
  return { type: 'failed', kind: status === undefined && type === 'not-sent' ? 'unreachable' : 'unusable', detail }
}

/** What leaves the session as good as it was. */
const isHealthy = ({ type }: McpCallResult): boolean => type === 'answered' || type === 'declined'

/** `isLate`: the engine stopped it because its time was over, and not a person. */
function answerOf(end: McpCallResult, { server, isLate }: { server: string; isLate: boolean }): ToolAnswer {
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

const objectOf = (input: Json): JsonObject =>
  input !== null && typeof input === 'object' && !Array.isArray(input) ? input : {}
