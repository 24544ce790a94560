import { defined } from '../../core/defined.ts'
import type { McpServerId } from '../../core/id.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import {
  CHANGED_DEFINITION,
  MCP_CALL_SECONDS,
  type McpSecrets,
  type McpServer,
  type McpToolDefinition,
  requestHeaders,
} from '../../core/mcp-server.ts'
import { changedTools, isSameDefinition } from '../../core/mcp-tools.ts'
import type { StoredTool } from '../../core/stored-tool.ts'
import type { Clock } from '../../ports/clock.ts'
import type { CredentialStore } from '../../ports/credential-store.ts'
import type { Mcp, McpCall, McpCallContext, McpListing } from '../../ports/mcp.ts'
import type { McpServerStore } from '../../ports/mcp-store.ts'
import type { Randomness } from '../../ports/randomness.ts'
import type { Outbound } from '../../ports/safe-fetch.ts'
import type { SecretBox } from '../../ports/secret-box.ts'
import type { StdioPrograms } from '../../ports/stdio-programs.ts'
import type { RedeemRefreshToken, RefreshOnce } from '../../ports/token-refresh.ts'
import type { ToolAnswer } from '../../ports/tool.ts'
import { reachOfServer } from './allowed-address.ts'
import { startDeadline } from './call-deadline.ts'
import { classifyCallError, errorDetail } from './call-fault.ts'
import type { McpCallResult, McpConnection, McpEndpoint } from './connection.ts'
import { type McpConnectionPool, newMcpConnectionPool, type PooledConnection } from './connection-pool.ts'
import { listCatalog } from './list-catalog.ts'
import { listTools } from './list-tools.ts'
import { newListedDefinitions } from './listed-definitions.ts'
import { offersOAuth } from './oauth/agree-on-client.ts'
import { newMcpAuthorizations } from './oauth/authorization.ts'
import { redeemForMcp } from './oauth/redeem.ts'
import { newServerTokens, type ServerTokens, type Unauthorized } from './oauth/server-tokens.ts'
import { newStdioServers, type StdioServer } from './stdio-servers.ts'
import { toToolAnswer } from './to-tool-answer.ts'

export type McpClientDeps = {
  servers: Pick<McpServerStore, 'get' | 'record' | 'update'>
  credentials: CredentialStore
  programs: StdioPrograms
  clock: Pick<Clock, 'now'>
  randomness: Pick<Randomness, 'uuid'>
  box: SecretBox
  /** For authorization servers. */
  outbound: Outbound
  /** Renews credentials with this function, once across all processes. */
  refreshOnce(redeem: RedeemRefreshToken): RefreshOnce
  /** Without timeouts: event streams are long and may be silent. */
  fetch: Outbound['fetch']
  /** Timeouts in milliseconds; tests set shorter ones. */
  connectMs?: number
  listMs?: number
  /** For a program to start and answer. */
  startMs?: number
  idleMs?: number
}

const CONNECT_MS = 20_000
const LIST_MS = 30_000
/** A program may install itself first. */
const START_MS = 60_000

/** Client of MCP servers: over HTTP, with a session for each conversation, and of programs, which conversations share. */
export function newMcpClient(deps: McpClientDeps): Mcp {
  const { servers, credentials, programs, clock, randomness, box, fetch, outbound, refreshOnce, ...times } = deps
  const { connectMs = CONNECT_MS, listMs = LIST_MS, startMs = START_MS, idleMs } = times
  const definitionsIn = newListedDefinitions(clock.now)
  const stdio = newStdioServers({ programs, clock, connectMs: startMs, ...defined({ idleMs }) })
  const pool: McpConnectionPool = newMcpConnectionPool(idleMs)

  const secretsOf = ({ id, sealed }: McpServer): McpSecrets | undefined => {
    if (sealed === undefined) return {}
    const plain = box.open(sealed, id)
    return plain === undefined ? undefined : (JSON.parse(plain) as McpSecrets)
  }

  const seal: Mcp['seal'] = (secrets, id) => box.seal(JSON.stringify(secrets), id)
  const redeem = redeemForMcp({ servers, secretsOf, outbound, clock })
  const tokens = newServerTokens({ credentials, refreshOnce: refreshOnce(redeem), box, clock })
  const authorizations = newMcpAuthorizations({
    servers,
    credentials,
    secretsOf,
    seal,
    box,
    outbound,
    clock,
    randomness,
    tokens,
  })

  return {
    secretsOf,
    seal,
    authorizations,
    forget(id) {
      tokens.forget(id)
      pool.drop(keyPrefix(id))
      void stdio.drop(id)
    },
    async remove(id) {
      tokens.forget(id)
      pool.drop(keyPrefix(id))
      await stdio.drop(id)
      await programs.remove(id)
    },
    async close() {
      await Promise.all([pool.close(), stdio.close()])
    },

    list: (server) =>
      readFrom(server, async (connection, signal) => ({ type: 'listed', tools: await listTools(connection, signal) })),

    catalog: (server) =>
      readFrom(server, async (connection, signal) => ({
        type: 'listed',
        ...(await listCatalog(connection, signal)),
      })),

    async call({ organizationId, link, pinned, input }, context) {
      const server = await servers.get(organizationId, link.serverId).catch(errorDetail)
      if (typeof server === 'string')
        return failure(`The MCP server of this tool cannot be looked up: ${server}. Nothing happened.`)
      if (!server) return failure('The MCP server of this tool was removed. Nothing happened.')
      const { timeoutSeconds = MCP_CALL_SECONDS } = server.transport
      const deadline = startDeadline(context.signal, timeoutSeconds * 1_000)
      try {
        const resolved = await resolveEndpoint(server, { secretsOf, fetch, tokens, signal: deadline.signal })
        if (resolved.type === 'sealed') return failure(resolved.detail)
        const within = { ...context, signal: deadline.signal }
        const answer = await callAt(resolved, { server, link, pinned, input, context: within })
        return { ...answer, output: resolved.hide(answer.output) }
      } finally {
        deadline.end()
      }
    },
  }

  /** Why the tool is not called: its server lists another definition than the one that was approved, or none. */
  async function checkDefinition(
    { connection }: PooledConnection,
    { server, link, pinned, context }: Omit<ServerCall, 'input'>,
  ): Promise<string | undefined> {
    const signal = AbortSignal.any([context.signal, AbortSignal.timeout(listMs)])
    let listed: readonly McpToolDefinition[]
    try {
      listed = await definitionsIn(connection, signal)
    } catch (error) {
      return (
        (await authorizationText(server, classifyCallError(error).status)) ??
        `The MCP server ${server.name} does not list its tools: ${errorDetail(error)}. Nothing happened.`
      )
    }
    const offered = listed.find(({ name }) => name === link.toolName)
    if (!offered)
      return `The MCP server ${server.name} no longer has the tool ${link.toolName}. Nothing happened. Continue without it.`
    if (isSameDefinition(offered, pinned)) return undefined
    const at = clock.now()
    const plan = ({ known }: { known: StoredTool[] }) => ({
      add: [],
      change: changedTools(known, listed, at),
      remove: [],
    })
    const contact = { state: 'reached', at } as const
    // A change of the server that is recorded meanwhile reads its tools again.
    await servers.record(server.organizationId, server.id, { revision: server.revision, contact, plan, at })
    return CHANGED_DEFINITION
  }

  /** What the model is told if a server refused a request with this status for want of an authorization. */
  async function authorizationText(server: McpServer, status: number | undefined): Promise<string | undefined> {
    const refusal = status === 401 || status === 403 ? tokens.refusalOf(server.id) : undefined
    if (!refusal || !isAboutOAuth(server, refusal)) return undefined
    const { name, id, organizationId, revision } = server
    if (refusal.type === 'for-now')
      return `The token for the MCP server ${name} could not be renewed: ${refusal.why}. Nothing happened. Try again later.`
    const contact = needOf(server, refusal, clock.now())
    const isNew = server.contact.state !== contact.state || server.contact.detail !== contact.detail
    if (isNew) await servers.record(organizationId, id, { revision, contact, at: contact.at })
    return `${contact.detail} Nothing happened. An administrator must authorize it (holdfast mcp connect ${name}). Continue without it.`
  }

  /** Without OAuth, a 401 says that the server wants a token of its own kind. */
  function isAboutOAuth(server: McpServer, refusal: Unauthorized): boolean {
    if (refusal.type === 'for-now' || server.contact.state === 'needs-authorization') return true
    const { metadataUrl, isForScope } = refusal.challenge
    return metadataUrl !== undefined || isForScope || secretsOf(server)?.oauth !== undefined
  }

  type ServerCall = Pick<McpCall, 'link' | 'input' | 'pinned'> & { server: McpServer; context: McpCallContext }

  async function readFrom<T>(
    server: McpServer,
    read: (connection: McpConnection, signal: AbortSignal) => Promise<T>,
  ): Promise<T | FailedListing> {
    const resolved = await resolveEndpoint(server, { secretsOf, fetch, tokens, signal: AbortSignal.timeout(listMs) })
    if (resolved.type === 'sealed') return { type: 'failed', kind: 'unusable', detail: resolved.detail }
    const limitMs = resolved.type === 'stdio' ? listMs + startMs : listMs
    const signal = AbortSignal.timeout(limitMs)
    try {
      const pooled = await acquireForListing(server, resolved, signal)
      try {
        return await read(pooled.connection, signal)
      } finally {
        pooled.release('close')
      }
    } catch (error) {
      const { status } = classifyCallError(error)
      const refusal = status === 401 || status === 403 ? tokens.refusalOf(server.id) : undefined
      if (refusal?.type === 'for-now')
        return { type: 'failed', kind: 'unauthorized', detail: `Its token could not be renewed: ${refusal.why}.` }
      if (refusal && (isAboutOAuth(server, refusal) || (await offersOAuth(server, outbound)))) {
        const { detail, scope } = needOf(server, refusal, clock.now())
        return { type: 'needs-authorization', detail, ...defined({ scope }) }
      }
      return toFailedListing(error, { isLate: signal.aborted, listMs: limitMs, hide: resolved.hide })
    }
  }

  /** A separate session: a listing must not share state with a conversation. A program has only one. */
  function acquireForListing(
    server: McpServer,
    resolved: UsableEndpoint,
    signal: AbortSignal,
  ): Promise<PooledConnection> {
    if (resolved.type === 'stdio') return stdio.acquire(resolved.server, resolved.secrets, signal)
    return pool.acquire({ key: `${keyPrefix(server.id)}listing`, endpoint: resolved.endpoint }, { signal, fresh: true })
  }

  async function callAt(
    resolved: UsableEndpoint,
    { server, link, pinned, input, context }: ServerCall,
  ): Promise<ToolAnswer> {
    const key = `${keyPrefix(server.id)}${server.revision}/${context.session ?? 'alone'}`
    for (let round = 0; ; round++) {
      const acquire = (signal: AbortSignal) =>
        resolved.type === 'stdio'
          ? stdio.acquire(resolved.server, resolved.secrets, signal)
          : pool.acquire({ key, endpoint: resolved.endpoint }, { signal, fresh: round > 0 })
      const limitMs = resolved.type === 'stdio' ? startMs : connectMs
      const pooled = await acquireConnection(acquire, { signal: context.signal, limitMs })
      if ('fault' in pooled)
        return failure(
          (await authorizationText(server, pooled.status)) ??
            `The MCP server ${server.name} cannot be used: ${pooled.fault} Nothing happened.`,
        )
      const refusal = await checkDefinition(pooled, { server, link, pinned, context })
      if (refusal !== undefined) {
        pooled.release('keep')
        return failure(refusal)
      }
      const request = { name: link.toolName, arguments: toObject(input), idempotencyKey: context.idempotencyKey }
      const { signal, progress: onProgress } = context
      const end = await pooled.connection.call(request, { signal, onProgress })
      pooled.release(context.session !== undefined && isHealthy(end) ? 'keep' : 'close')
      // A reused connection may have died meanwhile. Retry only if the first attempt had no effect, or may happen
      // twice.
      const isStale = end.type === 'not-sent' || (end.type === 'lost' && link.effects !== 'once')
      const unauthorized = 'status' in end ? await authorizationText(server, end.status) : undefined
      if (unauthorized !== undefined) return failure(unauthorized)
      if (round === 0 && pooled.isReused && isStale) continue
      const lateAfter = signal.reason === 'timeout' ? (server.transport.timeoutSeconds ?? MCP_CALL_SECONDS) : undefined
      return toAnswer(end, { server: server.name, ...defined({ lateAfter }) })
    }
  }
}

type FailedListing = Exclude<McpListing, { type: 'listed' }>

type ResolvedEndpoint =
  | { type: 'http'; endpoint: McpEndpoint; hide(text: string): string }
  | { type: 'stdio'; server: StdioServer; secrets: McpSecrets; hide(text: string): string }
  | { type: 'sealed'; detail: string }

type UsableEndpoint = Exclude<ResolvedEndpoint, { type: 'sealed' }>

type EndpointDeps = Pick<Mcp, 'secretsOf'> &
  Pick<McpClientDeps, 'fetch'> & { tokens: ServerTokens; signal: AbortSignal }

async function resolveEndpoint(
  server: McpServer,
  { secretsOf, fetch, tokens, signal }: EndpointDeps,
): Promise<ResolvedEndpoint> {
  const { transport, name } = server
  const secrets = secretsOf(server)
  if (!secrets) {
    const detail = `The credentials of the MCP server ${name} are encrypted with a key that this server does not have. Set them again. Nothing happened.`
    return { type: 'sealed', detail }
  }
  if (transport.type === 'stdio')
    return { type: 'stdio', server: { ...server, transport }, secrets, hide: newRedactor(secrets) }
  const { type, url } = transport
  const authorized = await tokens.authorized(
    { ...server, transport },
    { secrets, fetch: fetch[reachOfServer(server)], signal },
  )
  const requestOptions = { headers: requestHeaders(transport, secrets), fetch: authorized }
  const hide = newRedactor(secrets)
  return {
    type: 'http',
    endpoint: { type, url, ...requestOptions },
    // The token may be renewed during the call.
    hide: (text) => tokens.secretsOf(server.id).reduce((shown, token) => shown.replaceAll(token, '…'), hide(text)),
  }
}

type Need = { state: 'needs-authorization'; at: number; detail: string; scope?: string }

function needOf({ name }: McpServer, { why, challenge }: Extract<Unauthorized, { type: 'needed' }>, at: number): Need {
  const detail = `The MCP server ${name} needs authorization: ${why}.`
  return { state: 'needs-authorization', at, detail, ...defined({ scope: challenge.scope }) }
}

const MIN_REDACTED_CHARACTERS = 6

/** Redacts secrets that a server echoes. Short values are skipped: they could be ordinary words. */
function newRedactor({ token, headers, env }: McpSecrets): (text: string) => string {
  const bare = token?.replace(/^\S+\s+/, '')
  const values = [token, bare, ...Object.values(headers ?? {}), ...Object.values(env ?? {})].filter(
    (value) => (value?.length ?? 0) >= MIN_REDACTED_CHARACTERS,
  )
  return (text) => values.reduce<string>((shown, value) => shown.replaceAll(value!, '…'), text)
}

const keyPrefix = (id: McpServerId): string => `${id}/`

async function acquireConnection(
  acquire: (signal: AbortSignal) => Promise<PooledConnection>,
  { signal, limitMs }: { signal: AbortSignal; limitMs: number },
): Promise<PooledConnection | { fault: string; status?: number }> {
  const late = AbortSignal.timeout(limitMs)
  try {
    return await acquire(AbortSignal.any([signal, late]))
  } catch (error) {
    if (signal.aborted)
      return {
        fault: signal.reason === 'timeout' ? 'it did not answer in time.' : 'the call was stopped while connecting.',
      }
    if (late.aborted) return { fault: `it did not answer within ${limitMs} ms.` }
    const { status } = classifyCallError(error)
    return { fault: `${errorDetail(error)}.`, ...defined({ status }) }
  }
}

function toFailedListing(
  error: unknown,
  { isLate, listMs, hide }: { isLate: boolean; listMs: number; hide(text: string): string },
): FailedListing {
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

/** `lateAfter`: the call was stopped by its limit of so many seconds, not by a person. */
function toAnswer(end: McpCallResult, { server, lateAfter }: { server: string; lateAfter?: number }): ToolAnswer {
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
      return unknown(
        lateAfter === undefined
          ? 'The call was stopped.'
          : `The MCP server ${server} did not answer in time (${lateAfter} s).`,
      )
  }
}

const failure = (output: string): ToolAnswer => ({ status: 'error', output })

const unknown = (what: string): ToolAnswer => ({
  status: 'unknown',
  output: `${what} It may or may not have taken effect. Check before repeating.`,
})

const toObject = (input: Json): JsonObject =>
  input !== null && typeof input === 'object' && !Array.isArray(input) ? input : {}
