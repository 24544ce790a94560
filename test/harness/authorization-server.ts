import { createHash, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { defined } from '../../src/core/defined.ts'
import type { McpTestServer } from './mcp-server.ts'

/** What is wrong with the next answers of an endpoint. `hang`: nothing happens. `lost`: it takes effect, and no answer comes. */
export type OAuthFaultKind = 'down' | 'garbage' | 'cut' | 'hang' | 'lost' | 'refuses'

export type OAuthEndpoint = 'metadata' | 'register' | 'authorize' | 'token' | 'revoke'

export type AuthorizationServer = {
  url: string
  /** Requests to the token endpoint, in order. */
  tokenRequests: Record<string, string>[]
  registrations: Record<string, unknown>[]
  /** Parameters of the addresses that people opened. */
  opened: URLSearchParams[]
  /** Refresh tokens that were sent more than once. */
  reused: string[]
  /** How long access tokens are valid, in seconds. */
  lifetime: number
  /** Whether a refresh token is issued. */
  issuesRefreshTokens: boolean
  /** Tokens that were sent to the revocation endpoint, in order. */
  revoked: Record<string, string>[]
  /** Whether it revokes tokens (RFC 7009). */
  revokes: boolean
  /** Whether clients can register themselves. */
  registers: boolean
  /** The scope that the MCP server needs now. */
  neededScope: string
  fault(endpoint: OAuthEndpoint, kind: OAuthFaultKind | undefined): void
  /** Called before a token request is answered. */
  beforeToken: (() => Promise<void>) | undefined
  /** Ends all access tokens, as when they expire. */
  expireTokens(): void
  /** Ends everything that was authorized. */
  revokeAll(): void
  /** Makes the MCP server ask for its tokens. */
  protect(server: McpTestServer): void
  /** What a person does: opens the address, decides, and is sent back. Returns the address of the answer. */
  visit(address: string): Promise<URL>
  close(): Promise<void>
}

type Code = { clientId: string; redirectUrl: string; challenge: string; resource: string; scope: string }
type Issued = { resource: string; scope: string; family: string; isValid: boolean }

/** An authorization server on loopback (OAuth 2.1): metadata, registration, PKCE, resource, single-use refresh tokens. */
export async function startAuthorizationServer(): Promise<AuthorizationServer> {
  const codes = new Map<string, Code>()
  const access = new Map<string, Issued>()
  const refresh = new Map<string, Issued>()
  const spent = new Map<string, string>()
  const clients = new Set<string>(['given-client'])
  const faults = new Map<OAuthEndpoint, OAuthFaultKind>()

  const http = createServer((request, response) => void answer(request, response))
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url!, url)
    const body = await textOf(request)
    const endpoint = ENDPOINTS[pathname]
    if (!endpoint) return void response.writeHead(404).end()
    if (endpoint === 'token') {
      const fields = Object.fromEntries(new URLSearchParams(body))
      server.tokenRequests.push(fields)
      await server.beforeToken?.()
    }
    switch (faults.get(endpoint)) {
      case 'down':
        return void response.writeHead(503).end('maintenance')
      case 'garbage':
        return void response.writeHead(200, { 'content-type': 'application/json' }).end('{"access_token": 7, <html>')
      case 'cut':
        // The request took effect, and its answer is lost.
        if (endpoint === 'token') token(Object.fromEntries(new URLSearchParams(body)))
        return void response.destroy()
      case 'lost':
        if (endpoint === 'token') token(Object.fromEntries(new URLSearchParams(body)))
        return
      case 'hang':
        return
      case 'refuses':
        return endpoint === 'authorize'
          ? redirect(response, searchParams, { error: 'access_denied', error_description: 'The person said no.' })
          : json(response, 400, { error: endpoint === 'token' ? 'invalid_grant' : 'invalid_client_metadata' })
      case undefined:
        break
    }
    switch (endpoint) {
      case 'metadata':
        return json(response, 200, {
          issuer: url,
          authorization_endpoint: `${url}/authorize`,
          token_endpoint: `${url}/token`,
          response_types_supported: ['code'],
          code_challenge_methods_supported: ['S256'],
          token_endpoint_auth_methods_supported: ['none', 'client_secret_basic'],
          authorization_response_iss_parameter_supported: true,
          ...defined({
            registration_endpoint: server.registers ? `${url}/register` : undefined,
            revocation_endpoint: server.revokes ? `${url}/revoke` : undefined,
          }),
        })
      case 'register': {
        const metadata = JSON.parse(body) as Record<string, unknown>
        server.registrations.push(metadata)
        const client_id = `client-${server.registrations.length}`
        clients.add(client_id)
        return json(response, 201, { ...metadata, client_id })
      }
      case 'authorize': {
        server.opened.push(searchParams)
        const field = (name: string) => searchParams.get(name) ?? ''
        if (!clients.has(field('client_id')) || field('code_challenge_method') !== 'S256')
          return void response.writeHead(400).end('unknown client')
        const code = `code-${randomUUID()}`
        codes.set(code, {
          clientId: field('client_id'),
          redirectUrl: field('redirect_uri'),
          challenge: field('code_challenge'),
          resource: field('resource'),
          scope: field('scope'),
        })
        return redirect(response, searchParams, { code })
      }
      case 'revoke': {
        const fields = Object.fromEntries(new URLSearchParams(body))
        if (!clients.has(fields.client_id ?? '')) return json(response, 401, { error: 'invalid_client' })
        server.revoked.push(fields)
        const issued = refresh.get(fields.token ?? '') ?? access.get(fields.token ?? '')
        for (const one of [...access.values(), ...refresh.values()])
          if (one.family === issued?.family) one.isValid = false
        return void response.writeHead(200).end()
      }
      case 'token': {
        const { status, answer: sent } = token(Object.fromEntries(new URLSearchParams(body)))
        return json(response, status, sent)
      }
    }
  }

  function token(fields: Record<string, string>): { status: number; answer: object } {
    const refused = (error: string) => ({ status: 400, answer: { error, error_description: `${error}: no` } })
    if (!clients.has(fields.client_id ?? '')) return refused('invalid_client')
    if (fields.grant_type === 'authorization_code') {
      const code = codes.get(fields.code ?? '')
      codes.delete(fields.code ?? '')
      const challenge = createHash('sha256')
        .update(fields.code_verifier ?? '')
        .digest('base64url')
      const fits = code && code.challenge === challenge && code.redirectUrl === fields.redirect_uri
      if (!fits || code.clientId !== fields.client_id || code.resource !== fields.resource)
        return refused('invalid_grant')
      return { status: 200, answer: issue({ resource: code.resource, scope: code.scope, family: randomUUID() }) }
    }
    const sent = fields.refresh_token ?? ''
    const family = spent.get(sent)
    if (family !== undefined) {
      // A token that comes twice was stolen: everything that came from it ends.
      server.reused.push(sent)
      for (const one of [...access.values(), ...refresh.values()]) if (one.family === family) one.isValid = false
      return refused('invalid_grant')
    }
    const known = refresh.get(sent)
    if (!known?.isValid || known.resource !== fields.resource) return refused('invalid_grant')
    refresh.delete(sent)
    spent.set(sent, known.family)
    return { status: 200, answer: issue(known) }
  }

  function issue({ resource, scope, family }: Omit<Issued, 'isValid'>) {
    const [access_token, refresh_token] = [`access-${randomUUID()}`, `refresh-${randomUUID()}`]
    access.set(access_token, { resource, scope, family, isValid: true })
    const answer = { access_token, token_type: 'Bearer', expires_in: server.lifetime, scope }
    if (!server.issuesRefreshTokens) return answer
    refresh.set(refresh_token, { resource, scope, family, isValid: true })
    return { ...answer, refresh_token }
  }

  const server: AuthorizationServer = {
    url,
    tokenRequests: [],
    registrations: [],
    opened: [],
    reused: [],
    lifetime: 3_600,
    issuesRefreshTokens: true,
    registers: true,
    revoked: [],
    revokes: true,
    neededScope: 'tools',
    beforeToken: undefined,
    fault(endpoint, kind) {
      if (kind) faults.set(endpoint, kind)
      else faults.delete(endpoint)
    },
    expireTokens: () => access.clear(),
    revokeAll() {
      access.clear()
      refresh.clear()
    },
    protect({ url: resource, intercept }) {
      const { origin, pathname } = new URL(resource)
      const metadataUrl = `${origin}/.well-known/oauth-protected-resource${pathname}`
      intercept((request, response) => {
        if (request.url!.startsWith('/.well-known/oauth-protected-resource')) {
          json(response, 200, { resource, authorization_servers: [url], scopes_supported: ['tools'] })
          return true
        }
        const issued = access.get(request.headers.authorization?.replace(/^Bearer /, '') ?? '')
        const isFit = issued?.isValid === true && issued.resource === resource
        if (isFit && issued.scope.split(' ').includes(server.neededScope)) return false
        const challenge = isFit
          ? `Bearer error="insufficient_scope", scope="tools ${server.neededScope}", resource_metadata="${metadataUrl}"`
          : `Bearer resource_metadata="${metadataUrl}"`
        response.writeHead(isFit ? 403 : 401, { 'www-authenticate': challenge }).end()
        return true
      })
    },
    async visit(address) {
      const response = await fetch(address, { redirect: 'manual' })
      await response.body?.cancel()
      return new URL(response.headers.get('location')!)
    },
    close: () =>
      new Promise((resolve) => {
        http.close(() => resolve())
        http.closeAllConnections()
      }),
  }

  function redirect(response: ServerResponse, asked: URLSearchParams, fields: Record<string, string>): void {
    const target = new URL(asked.get('redirect_uri')!)
    for (const [name, value] of Object.entries({ ...fields, state: asked.get('state')!, iss: url }))
      target.searchParams.set(name, value)
    response.writeHead(302, { location: target.href }).end()
  }
  return server
}

const ENDPOINTS: Record<string, OAuthEndpoint> = {
  '/.well-known/oauth-authorization-server': 'metadata',
  '/register': 'register',
  '/authorize': 'authorize',
  '/token': 'token',
  '/revoke': 'revoke',
}

function json(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const piece of request) text += piece
  return text
}
