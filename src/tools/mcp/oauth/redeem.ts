import { defined } from '../../../core/defined.ts'
import type { McpServerId } from '../../../core/id.ts'
import type { McpSecrets, McpServer } from '../../../core/mcp-server.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { McpServerStore } from '../../../ports/mcp-store.ts'
import type { Outbound } from '../../../ports/safe-fetch.ts'
import type { RedeemRefreshToken, TokenResponse, Tokens } from '../../../ports/token-refresh.ts'
import { issuerFetch } from './issuer-fetch.ts'
import { loadAuth } from './load-auth.ts'
import { oauthFault } from './oauth-fault.ts'

type RedeemDeps = {
  servers: Pick<McpServerStore, 'get'>
  secretsOf(server: McpServer): McpSecrets | undefined
  outbound: Outbound
  clock: Pick<Clock, 'now'>
}

/** A refused client cannot renew anything either; a refused scope or target never changes. */
const MAY_PASS = new Set(['slow_down', 'too_many_requests'])

/** Sends refresh tokens of MCP servers to the authorization server that issued them. */
export const redeemForMcp =
  ({ servers, secretsOf, outbound, clock }: RedeemDeps): RedeemRefreshToken =>
  async ({ organizationId, label }, refreshToken) => {
    const server = await servers.get(organizationId, label as McpServerId)
    const oauth = server && secretsOf(server)?.oauth
    if (!server || server.transport.type === 'stdio' || !oauth)
      return { type: 'unavailable', detail: 'the MCP server of this token was removed or changed' }
    const { issuer, metadata, resource, client } = oauth
    const fetchFn = issuerFetch({ organizationId, url: server.transport.url }, outbound)
    try {
      const { refreshAuthorization } = await loadAuth()
      const tokens = await refreshAuthorization(issuer, {
        metadata: metadata as never,
        clientInformation: client,
        refreshToken,
        fetchFn,
        ...defined({ resource: resource as never }),
      })
      return { type: 'tokens', tokens: tokensFrom(tokens, clock.now()) }
    } catch (error) {
      return toRefusal(error, [refreshToken, client.client_secret])
    }
  }

function toRefusal(error: unknown, secrets: readonly (string | undefined)[]): TokenResponse {
  const fault = oauthFault(error, secrets)
  return fault.type === 'refused' ? { ...fault, isFinal: !MAY_PASS.has(fault.code) } : fault
}

type TokenAnswer = {
  access_token: string
  refresh_token?: string | undefined
  expires_in?: number | undefined
}

export const tokensFrom = ({ access_token, refresh_token, expires_in }: TokenAnswer, now: number): Tokens => ({
  secret: access_token,
  ...defined({
    refreshToken: refresh_token,
    expiresAt: expires_in === undefined ? undefined : now + Math.round(expires_in * 1_000),
  }),
})
