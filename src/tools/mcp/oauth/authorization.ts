import { defined } from '../../../core/defined.ts'
import type { McpServerId, OrganizationId } from '../../../core/id.ts'
import {
  authorizationOf,
  isTokenFor,
  MCP_PROVIDER,
  type McpOAuth,
  type McpRevocation,
  mcpCredentialId,
  revocationText,
} from '../../../core/mcp-oauth.ts'
import type { McpSecrets, McpServer } from '../../../core/mcp-server.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { CredentialStore } from '../../../ports/credential-store.ts'
import type { BegunAuthorization, FinishedAuthorization, McpAuthorizations } from '../../../ports/mcp.ts'
import type { McpServerStore } from '../../../ports/mcp-store.ts'
import type { Randomness } from '../../../ports/randomness.ts'
import type { Outbound } from '../../../ports/safe-fetch.ts'
import type { SecretBox } from '../../../ports/secret-box.ts'
import type { Tokens } from '../../../ports/token-refresh.ts'
import { agreeOnClient } from './agree-on-client.ts'
import { issuerFetch } from './issuer-fetch.ts'
import { loadAuth } from './load-auth.ts'
import { oauthFault } from './oauth-fault.ts'
import { tokensFrom } from './redeem.ts'
import { revokeTokens } from './revoke.ts'
import type { HttpServer, ServerTokens } from './server-tokens.ts'

type AuthorizationDeps = {
  servers: Pick<McpServerStore, 'get' | 'update'>
  credentials: Pick<CredentialStore, 'get' | 'add' | 'renew' | 'remove' | 'list'>
  secretsOf(server: McpServer): McpSecrets | undefined
  seal(secrets: McpSecrets, id: McpServerId): string
  box: SecretBox
  outbound: Outbound
  clock: Pick<Clock, 'now'>
  randomness: Pick<Randomness, 'uuid'>
  tokens: ServerTokens
}

/** How long a person has to open the address. */
const WAITING_MS = 30 * 60_000
/** What the parameter `state` is sealed for: it names the server, and only this home can make one. */
const STATE_CONTEXT = 'mcp-authorization'

type State = { organizationId: OrganizationId; serverId: McpServerId; nonce: string }

/**
 * The authorization code flow of OAuth 2.1 with PKCE, by the SDK, in steps that are stored before the next one: a process
 * that dies between two of them loses nothing, and a code is sent to the token endpoint once.
 */
export function newMcpAuthorizations(deps: AuthorizationDeps): McpAuthorizations {
  const { servers, credentials, secretsOf, seal, box, outbound, clock, randomness, tokens } = deps

  /** `edit` returns undefined to change nothing. The result is the stored server; undefined if it is gone. */
  async function changeOAuth(
    { organizationId, id }: Pick<McpServer, 'organizationId' | 'id'>,
    edit: (server: McpServer, oauth: McpOAuth | undefined) => McpOAuth | undefined,
    contact?: McpServer['contact'],
  ): Promise<McpServer | undefined> {
    const updated = await servers.update(organizationId, id, (server) => {
      const secrets = secretsOf(server) ?? {}
      const oauth = edit(server, secrets.oauth)
      if (!oauth) return server
      return { ...server, sealed: seal({ ...secrets, oauth }, id), ...defined({ contact }), updatedAt: clock.now() }
    })
    return updated === 'name-taken' ? undefined : updated
  }

  return {
    async begin(server, { redirectUrl, client }): Promise<BegunAuthorization> {
      const { id, organizationId, transport, revision } = server
      if (transport.type === 'stdio') return { type: 'failed', detail: 'a program is not authorized' }
      const http: HttpServer = { ...server, transport }
      const known = secretsOf(server)?.oauth
      const step = known?.step
      if (!client && step?.type === 'waiting' && step.until > clock.now() && known?.redirectUrl === redirectUrl)
        return { type: 'begun', address: step.address, until: step.until }

      const agreed = await agreeOnClient(http, { redirectUrl, client, known, outbound })
      if (agreed.type === 'failed') return agreed
      const { oauth, metadata } = agreed
      const nonce = randomness.uuid()
      const until = clock.now() + WAITING_MS
      const state = sealState({ organizationId, serverId: id, nonce })
      const { startAuthorization } = await loadAuth()
      let started: { authorizationUrl: URL; codeVerifier: string }
      try {
        started = await startAuthorization(oauth.issuer, {
          metadata: metadata as never,
          clientInformation: oauth.client,
          redirectUrl,
          state,
          ...defined({ scope: oauth.scope, resource: oauth.resource as never }),
        })
      } catch (error) {
        return { type: 'failed', detail: oauthFault(error, []).detail }
      }
      const { authorizationUrl, codeVerifier: verifier } = started
      if (authorizationUrl.protocol !== 'https:' && authorizationUrl.protocol !== 'http:')
        return {
          type: 'failed',
          detail: `it names an address to open that is not of the web (${authorizationUrl.protocol})`,
        }
      const address = authorizationUrl.href
      const next: McpOAuth = { ...oauth, step: { type: 'waiting', nonce, verifier, address, until } }
      const stored = await changeOAuth(server, (current) => (current.revision === revision ? next : undefined))
      if (!stored || stored.revision !== revision)
        return { type: 'failed', detail: 'it was changed meanwhile; connect it again' }
      return { type: 'begun', address, until }
    },

    async finish({ state, code, issuer, refusal }): Promise<FinishedAuthorization> {
      const opened = openState(state)
      const server = opened && (await servers.get(opened.organizationId, opened.serverId))
      const oauth = server && secretsOf(server)?.oauth
      if (!opened || !server || server.transport.type === 'stdio' || !oauth) return { type: 'unknown' }
      const { nonce } = opened
      const { step } = oauth
      if (step?.nonce !== nonce) return { type: 'unknown' }
      if (step.type === 'done') return { type: 'authorized', server, isRepeated: true }
      if (step.type === 'exchanging')
        return refused(server, 'its code was already sent, and the outcome is not known', 'try-again')
      if (step.until <= clock.now()) return refused(server, 'the address was opened too late', 'try-again')
      const agreed = withoutStep(oauth)
      const expected = oauth.metadata?.issuer ?? oauth.issuer
      const isOfOther =
        issuer === undefined
          ? oauth.metadata?.authorization_response_iss_parameter_supported
          : !isSameIssuer(issuer, expected)
      const stop = refusal ?? (isOfOther ? 'the answer does not come from its authorization server' : undefined)
      if (stop !== undefined || code === undefined) {
        const detail = stop ?? 'the answer has no authorization code'
        const contact = {
          state: 'needs-authorization',
          at: clock.now(),
          detail: `Authorization was refused: ${detail}.`,
        } as const
        await changeOAuth(server, (_, current) => (current?.step?.nonce === nonce ? agreed : undefined), contact)
        return refused(server, detail)
      }

      // Two requests with one code, here or on two servers: the one that takes the step sends it.
      const by = randomness.uuid()
      const taken = await changeOAuth(server, (_, current) =>
        current?.step?.type === 'waiting' && current.step.nonce === nonce
          ? { ...agreed, step: { type: 'exchanging', nonce, by } }
          : undefined,
      )
      const takenStep = taken && secretsOf(taken)?.oauth?.step
      if (!taken || takenStep?.type !== 'exchanging' || takenStep.by !== by)
        return refused(server, 'another request is finishing it', 'try-again')
      return exchange({ ...server, transport: server.transport }, agreed, { code, verifier: step.verifier, nonce })
    },

    async end(server, agreed = server) {
      const revoke = await prepareRevocation(agreed)
      const isRemoved = await credentials.remove(server.organizationId, mcpCredentialId(server.id))
      tokens.forget(server.id)
      if (!isRemoved) return { type: 'none' }
      const ended = { state: 'needs-authorization', at: clock.now(), detail: 'Its authorization was ended.' } as const
      await changeOAuth(server, (_, current) => current && withoutStep(current), ended)
      const revocation = await revoke()
      const detail = `${ended.detail} ${revocationText(revocation)}`
      // Another authorization may have begun meanwhile.
      const isStill = ({ contact }: McpServer) => contact.state === ended.state && contact.at === ended.at
      await changeOAuth(server, (row, current) => (isStill(row) ? current : undefined), { ...ended, detail })
      return revocation
    },

    prepareRevocation,

    async statesOf(listed) {
      const known = listed.map((server) => ({ server, oauth: secretsOf(server)?.oauth }))
      const organization = known.find(({ oauth }) => oauth)?.server.organizationId
      const rows = organization ? await credentials.list(organization, MCP_PROVIDER) : []
      const byId = new Map(rows.map((row) => [row.id, row]))
      return known.map(({ server, oauth }) => {
        const { transport, contact } = server
        const row = byId.get(mcpCredentialId(server.id))
        const credential = row && transport.type !== 'stdio' && isTokenFor(transport.url, row) ? row : undefined
        const asked = contact.state === 'needs-authorization' ? contact.detail : undefined
        return authorizationOf({ oauth, credential, asked, now: clock.now() })
      })
    },
  }

  async function prepareRevocation(server: McpServer): Promise<() => Promise<McpRevocation>> {
    const nothing = async (): Promise<McpRevocation> => ({ type: 'none' })
    const { id, organizationId, transport } = server
    const oauth = secretsOf(server)?.oauth
    const row = oauth && (await credentials.get(organizationId, mcpCredentialId(id)))
    // The tokens of an earlier agreement do not concern the authorization server of the present one.
    const isOfThis = row?.oauth?.clientId === oauth?.client.client_id
    if (!row || !isOfThis || row.state.type === 'dead' || transport.type === 'stdio' || !isTokenFor(transport.url, row))
      return nothing
    const secret = box.open(row.sealed.secret, row.id)
    const refreshToken = row.sealed.refreshToken && box.open(row.sealed.refreshToken, row.id)
    if (secret === undefined) return nothing
    const held = { secret, ...defined({ refreshToken }) }
    return () => revokeTokens({ ...server, transport }, { oauth, held, outbound })
  }

  type Redeemed = { code: string; verifier: string; nonce: string }

  async function exchange(server: HttpServer, agreed: McpOAuth, { code, verifier, nonce }: Redeemed) {
    const { issuer, metadata, resource, client, redirectUrl } = agreed
    const { exchangeAuthorization } = await loadAuth()
    let received: Tokens
    try {
      const answer = await exchangeAuthorization(issuer, {
        metadata: metadata as never,
        clientInformation: client,
        authorizationCode: code,
        codeVerifier: verifier,
        redirectUri: redirectUrl,
        fetchFn: issuerFetch({ organizationId: server.organizationId, url: server.transport.url }, outbound),
        ...defined({ resource: resource as never }),
      })
      received = tokensFrom(answer, clock.now())
    } catch (error) {
      const { detail } = oauthFault(error, [code, verifier, client.client_secret])
      const contact = {
        state: 'needs-authorization',
        at: clock.now(),
        detail: `Authorization failed: ${detail}.`,
      } as const
      await changeOAuth(server, (_, current) => (current?.step?.nonce === nonce ? agreed : undefined), contact)
      return refused(server, detail, 'try-again')
    }
    await storeTokens(server, received, client.client_id)
    const contact = { state: 'not-asked' } as const
    const step = { type: 'done', nonce } as const
    const done = await changeOAuth(
      server,
      (_, current) => (current?.step?.nonce === nonce ? { ...agreed, step } : undefined),
      contact,
    )
    tokens.forget(server.id)
    return { type: 'authorized', server: done ?? server, isRepeated: false } as const
  }

  /** Adds the credential, or renews it with a new generation, which also ends a claim on the old one. */
  async function storeTokens(
    { id: serverId, organizationId, transport }: HttpServer,
    received: Tokens,
    clientId: string,
  ) {
    const id = mcpCredentialId(serverId)
    const { secret, refreshToken, expiresAt } = received
    for (;;) {
      const at = clock.now()
      const sealed = {
        secret: box.seal(secret, id),
        ...defined({ refreshToken: refreshToken === undefined ? undefined : box.seal(refreshToken, id) }),
      }
      const details = {
        sealed,
        oauth: { flow: 'mcp', clientId, baseUrl: new URL(transport.url).origin },
        ...defined({ expiresAt }),
      }
      const row = await credentials.get(organizationId, id)
      // Without a new refresh token the old one would stay, which belongs to the former authorization.
      if (row && refreshToken === undefined) await credentials.remove(organizationId, id)
      else if (row) {
        if (await credentials.renew(id, { generation: row.generation, ...details, at })) return
        continue
      }
      const isAdded = await credentials.add({
        ...details,
        id,
        organizationId,
        provider: MCP_PROVIDER,
        label: serverId,
        kind: 'oauth',
        source: 'stored',
        priority: 0,
        useCount: 0,
        state: { type: 'ok' },
        generation: 1,
        createdAt: at,
        updatedAt: at,
      })
      if (isAdded) return
    }
  }

  function sealState(state: State): string {
    return Buffer.from(box.seal(JSON.stringify(state), STATE_CONTEXT)).toString('base64url')
  }

  function openState(text: string): State | undefined {
    const plain = box.open(Buffer.from(text, 'base64url').toString('utf8'), STATE_CONTEXT)
    return plain === undefined ? undefined : (JSON.parse(plain) as State)
  }
}

const refused = (server: McpServer, detail: string, next?: 'try-again'): FinishedAuthorization => ({
  type: 'refused',
  server,
  detail,
  ...defined({ next }),
})

const withoutStep = ({ step: _, ...agreed }: McpOAuth): McpOAuth => agreed

/** One trailing slash does not matter: `URL` adds it. */
const isSameIssuer = (one: string, other: string): boolean => one.replace(/\/$/, '') === other.replace(/\/$/, '')
