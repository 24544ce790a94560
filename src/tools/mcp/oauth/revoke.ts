import type { McpOAuth, McpRevocation } from '../../../core/mcp-oauth.ts'
import type { Outbound } from '../../../ports/safe-fetch.ts'
import { issuerFetch } from './issuer-fetch.ts'
import { loadAuth } from './load-auth.ts'
import { oauthFault } from './oauth-fault.ts'
import type { HttpServer } from './server-tokens.ts'

/** For all requests: the tokens are already deleted here, and a person waits. */
const REVOKE_MS = 5_000

type HeldTokens = { secret: string; refreshToken?: string }

/** Asks the authorization server to revoke tokens (RFC 7009), once. */
export async function revokeTokens(
  { organizationId, transport }: HttpServer,
  { oauth, held, outbound }: { oauth: McpOAuth; held: HeldTokens; outbound: Outbound },
): Promise<McpRevocation> {
  const { client } = oauth
  const { revocation_endpoint: endpoint } = oauth.metadata ?? {}
  const issuer = oauth.metadata?.issuer ?? oauth.issuer
  if (endpoint === undefined) return { type: 'not-offered', issuer }
  const { parseErrorResponse } = await loadAuth()
  const fetchFn = issuerFetch({ organizationId, url: transport.url }, outbound, AbortSignal.timeout(REVOKE_MS))

  async function revoke(token: string, kind: 'refresh_token' | 'access_token'): Promise<void> {
    const { headers, fields } = await clientProof(oauth)
    const body = new URLSearchParams({ token, token_type_hint: kind, ...fields })
    const response = await fetchFn(endpoint!, { method: 'POST', headers, body })
    if (!response.ok) throw await parseErrorResponse(response)
    await response.body?.cancel()
  }

  const { secret, refreshToken } = held
  try {
    // First the one that lives longer. Most servers end the access token with it, and some revoke no access tokens.
    if (refreshToken !== undefined) await revoke(refreshToken, 'refresh_token')
    await revoke(secret, 'access_token').catch((error) => {
      const fault = oauthFault(error, [])
      if (refreshToken === undefined || fault.type !== 'refused' || fault.code !== 'unsupported_token_type') throw error
    })
    return { type: 'revoked', issuer }
  } catch (error) {
    return { type: 'failed', issuer, detail: oauthFault(error, [secret, refreshToken, client.client_secret]).detail }
  }
}

/** How the client proves itself there, as at the token endpoint. */
async function clientProof({ client, metadata }: McpOAuth) {
  const { selectClientAuthMethod } = await loadAuth()
  const { client_id, client_secret } = client
  const supported =
    metadata?.revocation_endpoint_auth_methods_supported ?? metadata?.token_endpoint_auth_methods_supported ?? []
  const headers = new Headers({ accept: 'application/json' })
  switch (selectClientAuthMethod(client as never, supported)) {
    case 'client_secret_basic':
      headers.set('authorization', `Basic ${btoa(`${client_id}:${client_secret ?? ''}`)}`)
      return { headers, fields: {} }
    case 'client_secret_post':
      return { headers, fields: { client_id, client_secret: client_secret ?? '' } }
    case 'none':
      return { headers, fields: { client_id } }
  }
}
