import type { Credential, CredentialId } from './credential.ts'
import { defined } from './defined.ts'
import type { McpServerId } from './id.ts'

/** What was agreed with the authorization server of an MCP server: stored encrypted, with the secrets of that server. */
export type McpOAuth = {
  /** URL of the authorization server. */
  issuer: string
  /** The part of its metadata (RFC 8414) that later steps need; absent: its endpoints have their default paths. */
  metadata?: McpIssuerMetadata
  /** Value of the parameter `resource` (RFC 8707). */
  resource?: string
  scope?: string
  client: McpOAuthClient
  redirectUrl: string
  step?: McpOAuthStep
}

export type McpIssuerMetadata = {
  issuer?: string
  token_endpoint: string
  token_endpoint_auth_methods_supported?: string[]
  authorization_response_iss_parameter_supported?: boolean
  /** Where tokens are revoked (RFC 7009). */
  revocation_endpoint?: string
  revocation_endpoint_auth_methods_supported?: string[]
}

/** `isGiven`: an administrator registered it; otherwise Holdfast did. */
export type McpOAuthClient = {
  client_id: string
  client_secret?: string
  token_endpoint_auth_method?: string
  isGiven?: true
}

/**
 * `waiting`: a person is to open `address`. `exchanging`: the code was sent to the token endpoint, and `by` says by which
 * attempt; if that process died, the outcome is unknown and the code is not sent again.
 */
type McpOAuthStep =
  | { type: 'waiting'; nonce: string; verifier: string; address: string; until: number }
  | { type: 'exchanging'; nonce: string; by: string }
  | { type: 'done'; nonce: string }

/** Whether a person has authorized Holdfast at a server. */
export type McpAuthorization =
  /** The server has not asked for it. */
  | { state: 'none' }
  | { state: 'needed'; detail: string }
  | { state: 'waiting'; address: string; until: number }
  | { state: 'authorized'; issuer: string; scope?: string; expiresAt?: number; refreshFailure?: string }

/** The provider of their credentials: no name that a provider can have, so no pool contains them. */
export const MCP_PROVIDER = 'mcp:oauth'

/** The credential with the tokens of this server. */
export const mcpCredentialId = (id: McpServerId): CredentialId => `credential-${id.slice('mcp_server-'.length)}`

/** Tokens belong to the origin they were issued for. */
export const isTokenFor = (url: string, { oauth }: Pick<Credential, 'oauth'>): boolean =>
  oauth?.baseUrl === new URL(url).origin

type AuthorizationFacts = {
  oauth: McpOAuth | undefined
  /** The credential of the server, if its tokens are for the server's present origin. */
  credential: Credential | undefined
  /** Why the server asked for authorization the last time it was called; undefined if it did not. */
  asked: string | undefined
  now: number
}

export function authorizationOf({ oauth, credential, asked, now }: AuthorizationFacts): McpAuthorization {
  if (oauth && credential?.state.type === 'ok' && asked === undefined) {
    const { expiresAt, refreshFailure } = credential
    return { state: 'authorized', issuer: oauth.issuer, ...defined({ scope: oauth.scope, expiresAt, refreshFailure }) }
  }
  if (oauth?.step?.type === 'waiting' && oauth.step.until > now)
    return { state: 'waiting', address: oauth.step.address, until: oauth.step.until }
  if (asked !== undefined) return { state: 'needed', detail: asked }
  if (!oauth) return { state: 'none' }
  if (credential?.state.type === 'dead') return { state: 'needed', detail: credential.state.detail }
  return { state: 'needed', detail: WHY_NEEDED[oauth.step?.type ?? 'none'] }
}

const WHY_NEEDED: Record<McpOAuthStep['type'] | 'none', string> = {
  none: 'No person has authorized it.',
  waiting: 'No person opened the address in time.',
  exchanging: 'The server stopped while it exchanged the authorization code, which is valid once.',
  done: 'The authorization was ended.',
}

/** What became of deleted tokens at the authorization server that issued them. `none`: there were no tokens. */
export type McpRevocation =
  | { type: 'none' }
  | { type: 'revoked'; issuer: string }
  | { type: 'not-offered'; issuer: string }
  | { type: 'failed'; issuer: string; detail: string }

/** For people; empty if there is nothing to say. */
export function revocationText(revocation: McpRevocation): string {
  switch (revocation.type) {
    case 'none':
      return ''
    case 'revoked':
      return `Its tokens were revoked at ${revocation.issuer}.`
    case 'not-offered':
      return `${revocation.issuer} offers no revocation: its tokens are deleted here, and valid there until they expire.`
    case 'failed':
      return `Its tokens are deleted here, but ${revocation.issuer} did not revoke them: ${revocation.detail}. Remove the access there.`
  }
}
