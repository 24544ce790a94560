import { defined } from '../../../core/defined.ts'
import type { McpIssuerMetadata, McpOAuth, McpOAuthClient } from '../../../core/mcp-oauth.ts'
import type { McpServer } from '../../../core/mcp-server.ts'
import type { GivenClient } from '../../../ports/mcp.ts'
import type { Outbound } from '../../../ports/safe-fetch.ts'
import { type Challenge, challengeOf } from './challenge.ts'
import { issuerFetch } from './issuer-fetch.ts'
import { loadAuth, type SdkAuth } from './load-auth.ts'
import { oauthFault } from './oauth-fault.ts'
import type { HttpServer } from './server-tokens.ts'

type AgreementRequest = {
  redirectUrl: string
  /** A client that an administrator registered at the authorization server. */
  client: GivenClient | undefined
  /** What was agreed before: its client is used again, as long as nothing about it changed. */
  known: McpOAuth | undefined
  outbound: Outbound
}

type Agreement = { type: 'agreed'; oauth: McpOAuth; metadata: object | undefined } | { type: 'failed'; detail: string }

/** Finds the authorization server of an MCP server, and has a client there: the given, the known, or a new one. */
export async function agreeOnClient(server: HttpServer, request: AgreementRequest): Promise<Agreement> {
  const { redirectUrl, client: given, known, outbound } = request
  const { url } = server.transport
  const fetchFn = issuerFetch({ organizationId: server.organizationId, url }, outbound)
  const sdk = await loadAuth()
  try {
    const challenge = await probe(server, { fetchFn, sdk })
    const found = await sdk.discoverOAuthServerInfo(url, {
      fetchFn,
      ...defined({ resourceMetadataUrl: challenge?.metadataUrl }),
    })
    const { authorizationServerUrl: issuer, authorizationServerMetadata: metadata, resourceMetadata } = found
    if (challenge?.metadataUrl && !resourceMetadata)
      return { type: 'failed', detail: `its description at ${challenge.metadataUrl.href} cannot be read` }
    if (!metadata && !resourceMetadata)
      return { type: 'failed', detail: 'it offers no OAuth: it describes neither itself nor an authorization server' }
    // The value of the server as it is: a URL object would add a slash to one without a path.
    const isForThis = await sdk.selectResourceURL(url, {} as never, resourceMetadata)
    const scope = asked(server) ?? challenge?.scope ?? resourceMetadata?.scopes_supported?.join(' ')
    const resource = isForThis && resourceMetadata?.resource
    const client =
      given ??
      clientOf(known, { issuer, redirectUrl }) ??
      toClient(
        await sdk.registerClient(issuer, {
          clientMetadata: clientMetadata(redirectUrl, metadata),
          fetchFn,
          ...defined({ metadata, scope }),
        }),
      )
    const oauth = { issuer, client, redirectUrl, ...defined({ metadata: kept(metadata), resource, scope }) }
    return { type: 'agreed', oauth, metadata }
  } catch (error) {
    return { type: 'failed', detail: oauthFault(error, [given?.client_secret]).detail }
  }
}

/** Whether the server describes how to be authorized. */
export async function offersOAuth({ organizationId, transport }: McpServer, outbound: Outbound): Promise<boolean> {
  if (transport.type === 'stdio') return false
  const { discoverOAuthServerInfo } = await loadAuth()
  const { url } = transport
  try {
    const found = await discoverOAuthServerInfo(url, { fetchFn: issuerFetch({ organizationId, url }, outbound) })
    return found.authorizationServerMetadata !== undefined || found.resourceMetadata !== undefined
  } catch {
    // An unreadable description is none.
    return false
  }
}

/** A scope that the server asked for in the middle of a call. */
const asked = ({ contact }: HttpServer): string | undefined =>
  contact.state === 'needs-authorization' ? contact.scope : undefined

/** How the server asks for authorization. A ping without a session begins nothing at the server. */
async function probe(
  { transport: { type, url } }: HttpServer,
  { fetchFn, sdk }: { fetchFn: ReturnType<typeof issuerFetch>; sdk: SdkAuth },
): Promise<Challenge | undefined> {
  const accept = type === 'sse' ? 'text/event-stream' : 'application/json, text/event-stream'
  const ping = {
    method: 'POST',
    headers: { accept, 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
  }
  const response = await fetchFn(url, type === 'sse' ? { headers: { accept } } : ping)
  const challenge = challengeOf(response, sdk)
  await response.body?.cancel()
  return challenge
}

const clientOf = (
  known: McpOAuth | undefined,
  { issuer, redirectUrl }: { issuer: string; redirectUrl: string },
): McpOAuthClient | undefined =>
  known?.issuer === issuer && (known.redirectUrl === redirectUrl || known.client.isGiven) ? known.client : undefined

const clientMetadata = (
  redirectUrl: string,
  metadata: { token_endpoint_auth_methods_supported?: string[] | undefined } | undefined,
) => ({
  client_name: 'Holdfast',
  redirect_uris: [redirectUrl],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: authMethod(metadata?.token_endpoint_auth_methods_supported),
})

/** Without a secret where the server allows that: PKCE protects the code. */
function authMethod(supported: string[] | undefined): string {
  if (!supported || supported.includes('none')) return 'none'
  return supported.includes('client_secret_basic') ? 'client_secret_basic' : 'client_secret_post'
}

type RegisteredClient = {
  client_id: string
  client_secret?: string | undefined
  token_endpoint_auth_method?: string | undefined
}

const toClient = ({ client_id, client_secret, token_endpoint_auth_method }: RegisteredClient): McpOAuthClient => ({
  client_id,
  ...defined({ client_secret, token_endpoint_auth_method }),
})

type IssuerMetadata = { [Key in keyof McpIssuerMetadata]?: McpIssuerMetadata[Key] | undefined }

function kept(metadata: IssuerMetadata | undefined): McpIssuerMetadata | undefined {
  if (metadata?.token_endpoint === undefined) return undefined
  const {
    issuer,
    token_endpoint,
    token_endpoint_auth_methods_supported,
    authorization_response_iss_parameter_supported,
    revocation_endpoint,
    revocation_endpoint_auth_methods_supported,
  } = metadata
  return {
    token_endpoint,
    ...defined({
      issuer,
      token_endpoint_auth_methods_supported,
      authorization_response_iss_parameter_supported,
      revocation_endpoint,
      revocation_endpoint_auth_methods_supported,
    }),
  }
}
