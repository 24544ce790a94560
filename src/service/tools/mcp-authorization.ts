import { defined } from '../../core/defined.ts'
import type { McpServerId } from '../../core/id.ts'
import { hasOwnToken, type McpServer, urlFault } from '../../core/mcp-server.ts'
import { Problem } from '../../core/problem.ts'
import type { AuthorizationReply, GivenClient } from '../../ports/mcp.ts'
import { newAuditEntry } from '../people/audit.ts'
import type { ServiceContext } from '../service-context.ts'
import { recordRevocation, refreshMcpServer, requireServer, type ShownMcpServer, toShownServer } from './mcp-servers.ts'

type ConnectRequest = {
  id: McpServerId
  /** Where the person is sent after the decision. */
  redirectUrl: string
  client?: GivenClient
}

/** Begins the authorization of a server by a person. Repeated while it waits, the answer is the same address. */
export async function connectMcpServer(
  { id, redirectUrl, client }: ConnectRequest,
  context: ServiceContext,
): Promise<{ address: string; until: number }> {
  const { mcp } = context.deps
  const server = await requireServer(id, context)
  const { name, transport } = server
  if (transport.type === 'stdio')
    throw new Problem('invalid', `${name} is a program. Only MCP servers at a URL are authorized; give it variables.`)
  const fault = urlFault(redirectUrl)
  if (fault) throw new Problem('invalid', `${redirectUrl} cannot be the address to return to: ${fault}.`)
  const secrets = mcp.secretsOf(server)
  if (!secrets)
    throw new Problem(
      'conflict',
      `The credentials of the MCP server ${name} are encrypted with a key that this server does not have. Set them again first.`,
    )
  if (hasOwnToken(secrets))
    throw new Problem('conflict', `The MCP server ${name} has a token of its own. Remove that first.`)
  const begun = await mcp.authorizations.begin(server, { redirectUrl, client })
  if (begun.type === 'failed') throw cannotBeAuthorized(server, begun.detail)
  return begun
}

/**
 * Finishes it with what the authorization server sent, and reads the tools. `id`: only for this server. The caller needs no
 * key: `state` names the server, and only this home can make one.
 */
export async function finishMcpAuthorization(
  { id, ...reply }: AuthorizationReply & { id?: McpServerId },
  context: ServiceContext,
): Promise<ShownMcpServer> {
  const { mcp, store } = context.deps
  const finished = await mcp.authorizations.finish(reply)
  if (finished.type === 'unknown' || (id !== undefined && finished.server.id !== id))
    throw new Problem('conflict', 'This answer belongs to no authorization that waits. Connect the MCP server again.')
  const { server } = finished
  if (finished.type === 'refused') {
    const again = finished.next ? ' Connect it again.' : ''
    throw new Problem('conflict', `The MCP server ${server.name} was not authorized: ${finished.detail}.${again}`)
  }
  const own = { ...context, organizationId: server.organizationId }
  if (!finished.isRepeated) {
    const action = { verb: 'mcp-server.authorize', object: server.id, organizationId: server.organizationId }
    const entry = newAuditEntry(action, context)
    // Without an id it is a browser that the authorization server sent here, without a key.
    await store.audit.append(id === undefined ? { ...entry, actor: 'unknown' } : entry)
    mcp.forget(server.id)
    // A failure is stored with the server.
    await refreshMcpServer(server.id, own)
  }
  return toShownServer(await requireServer(server.id, own), mcp)
}

/** Deletes the tokens of a server and has them revoked; `contact` says whether they were. */
export async function disconnectMcpServer(id: McpServerId, context: ServiceContext): Promise<ShownMcpServer> {
  const { mcp } = context.deps
  const server = await requireServer(id, context)
  const revocation = await mcp.authorizations.end(server)
  mcp.forget(id)
  await recordRevocation(server, revocation, context)
  return toShownServer(await requireServer(id, context), mcp)
}

const cannotBeAuthorized = ({ name }: McpServer, detail: string) =>
  new Problem('peer-failed', `The MCP server ${name} cannot be authorized: ${detail}.`, {
    type: 'mcp_authorization_error',
    what: 'The authorization could not be started.',
  })

/** The answer of an authorization server, from the address that it sent the person to. */
export function replyFrom(parameters: URLSearchParams): AuthorizationReply {
  const state = parameters.get('state')
  if (!state)
    throw new Problem('invalid', 'The address has no parameter "state", so it is no answer to an authorization.')
  const [code, issuer, error, description] = ['code', 'iss', 'error', 'error_description'].map(
    (name) => parameters.get(name) ?? undefined,
  )
  const refusal = error === undefined ? undefined : [error, description].filter(Boolean).join(': ').slice(0, 200)
  return { state, ...defined({ code, issuer, refusal }) }
}
