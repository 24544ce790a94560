import { defined } from '../../../core/defined.ts'
import type { McpServerId } from '../../../core/id.ts'
import { isTokenFor, mcpCredentialId } from '../../../core/mcp-oauth.ts'
import { hasOwnToken, type McpHttpTransport, type McpSecrets, type McpServer } from '../../../core/mcp-server.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { CredentialStore } from '../../../ports/credential-store.ts'
import type { SafeFetch } from '../../../ports/safe-fetch.ts'
import type { SecretBox } from '../../../ports/secret-box.ts'
import type { RefreshOnce } from '../../../ports/token-refresh.ts'
import { type Challenge, challengeOf } from './challenge.ts'
import { loadAuth } from './load-auth.ts'

type ServerTokensDeps = {
  credentials: Pick<CredentialStore, 'get' | 'markDead'>
  refreshOnce: RefreshOnce
  box: SecretBox
  clock: Pick<Clock, 'now'>
}

export type HttpServer = McpServer & { transport: McpHttpTransport }

/** Why a server does not accept requests: no person has authorized it, or its token could not be renewed just now. */
export type Unauthorized = { type: 'needed'; why: string; challenge: Challenge } | { type: 'for-now'; why: string }

export type ServerTokens = {
  /**
   * `fetch` with the current token of the server, which is renewed before it expires and after a 401. If a renewal has
   * begun, it waits for it: the process that renews may have died, and its claim takes half a minute to expire.
   */
  authorized(
    server: HttpServer,
    request: { secrets: McpSecrets; fetch: SafeFetch; signal: AbortSignal },
  ): Promise<SafeFetch>
  /** Why its last request was refused; undefined if it was not. */
  refusalOf(id: McpServerId): Unauthorized | undefined
  /** Its tokens, to keep them out of texts. */
  secretsOf(id: McpServerId): string[]
  forget(id: McpServerId): void
}

/** What this process knows of a server: read again with each call, and used by the requests of its connections. */
type Known = { token?: string; expiresAt?: number; isRenewing?: true; whyNone?: string; refusal?: Unauthorized }

/** A token is renewed this long before it expires, so that it is valid when it arrives. */
const MARGIN_MS = 30_000
/** Shorter than the time to connect, so that the result of a call says what it waited for. */
const RENEWAL_MS = 15_000

/** Access tokens of servers that a person authorized. */
export function newServerTokens({ credentials, refreshOnce, box, clock }: ServerTokensDeps): ServerTokens {
  const known = new Map<McpServerId, Known>()

  async function read({ id, organizationId, transport }: HttpServer): Promise<Known> {
    const row = await credentials.get(organizationId, mcpCredentialId(id))
    const { refusal } = known.get(id) ?? {}
    const next: Known = defined({
      refusal,
      whyNone: row?.state.type === 'dead' ? refusedFor(row.state.detail) : undefined,
    })
    if (row?.state.type === 'ok' && isTokenFor(transport.url, row)) {
      const token = box.open(row.sealed.secret, row.id)
      if (token !== undefined) next.token = token
      if (row.expiresAt !== undefined) next.expiresAt = row.expiresAt
      if (row.refreshingBy !== undefined) next.isRenewing = true
    }
    known.set(id, next)
    return next
  }

  /** `expiring`: the server may still accept the token, so that nothing is lost if there is no newer one. */
  async function renew(
    server: HttpServer,
    { failedSecret, why, signal }: { failedSecret: string; why: 'expiring' | 'rejected'; signal: AbortSignal },
  ): Promise<string | Unauthorized> {
    const { id, organizationId } = server
    const credential = mcpCredentialId(id)
    const renewed = await refreshOnce(credential, { organizationId, failedSecret, signal })
    switch (renewed.type) {
      case 'refreshed':
        return (await read(server)).token ?? needed('its authorization was ended')
      case 'dead':
        return needed(refusedFor(renewed.detail))
      case 'failed':
        return (await credentials.get(organizationId, credential))
          ? { type: 'for-now', why: renewed.detail }
          : needed('its authorization was ended')
      case 'unchanged':
        if (why === 'rejected') await endRejected(server, failedSecret)
        return (await read(server)).token ?? needed(refusedFor(NOT_RENEWABLE))
    }
  }

  /** Only the token that was rejected: another process may have stored a new one meanwhile. */
  async function endRejected({ id, organizationId }: HttpServer, failedSecret: string): Promise<void> {
    const row = await credentials.get(organizationId, mcpCredentialId(id))
    if (!row || box.open(row.sealed.secret, row.id) !== failedSecret) return
    const verdict = { reason: 'rejected', detail: NOT_RENEWABLE, at: clock.now() }
    await credentials.markDead(row.id, { generation: row.generation, ...verdict })
  }

  return {
    refusalOf: (id) => known.get(id)?.refusal,
    secretsOf: (id) => [known.get(id)?.token ?? []].flat(),
    forget: (id) => void known.delete(id),
    async authorized(server, { secrets, fetch, signal: waiting }) {
      if (hasOwnToken(secrets)) return fetch
      const stored = secrets.oauth ? await read(server) : {}
      if (stored.isRenewing && stored.token !== undefined) {
        const { id, organizationId } = server
        // A failure is met again by the first request, which reports it.
        await refreshOnce(mcpCredentialId(id), { organizationId, failedSecret: stored.token, signal: waiting })
        await read(server)
      }
      const state = (): Known => {
        const one = known.get(server.id) ?? {}
        known.set(server.id, one)
        return one
      }
      return async (url, init = {}) => {
        const signal = init.signal ?? new AbortController().signal
        delete state().refusal
        const { token: before, expiresAt = Number.POSITIVE_INFINITY } = state()
        let token = before
        if (token !== undefined && expiresAt - MARGIN_MS <= clock.now()) {
          const renewed = await renew(server, { failedSecret: token, why: 'expiring', signal: limited(signal) })
          // A token that cannot be renewed just now may still be accepted.
          if (typeof renewed === 'string') token = renewed
        }
        const response = await fetch(url, withToken(init, token))
        if (response.status !== 401 && response.status !== 403) return response
        const challenge = challengeOf(response, await loadAuth())
        if (!challenge) return response
        const refuse = (why: Unauthorized) => {
          state().refusal = why
          return response
        }
        if (token === undefined) {
          const why = state().whyNone ?? 'no person has authorized it'
          return refuse({ type: 'needed', why, challenge })
        }
        if (challenge.isForScope)
          return refuse({ type: 'needed', why: `it asks for the scope ${challenge.scope ?? '(not named)'}`, challenge })
        const renewed = await renew(server, { failedSecret: token, why: 'rejected', signal: limited(signal) })
        if (typeof renewed !== 'string') return refuse(renewed)
        await response.body?.cancel()
        // With 401 the server has not accepted the request, so it may be sent again.
        const second = await fetch(url, withToken(init, renewed))
        if (second.status !== 401) return second
        state().refusal = { type: 'needed', why: 'it rejects a new token', challenge }
        return second
      }
    },
  }
}

const NOT_RENEWABLE = 'the server no longer accepts the token, and there is none to renew it with'

const limited = (signal: AbortSignal): AbortSignal => AbortSignal.any([signal, AbortSignal.timeout(RENEWAL_MS)])

const needed = (why: string): Unauthorized => ({ type: 'needed', why, challenge: { isForScope: false } })

const refusedFor = (detail: string): string => `its authorization was refused (${detail})`

function withToken(init: RequestInit, token: string | undefined): RequestInit {
  if (token === undefined) return init
  const headers = new Headers(init.headers)
  headers.set('authorization', `Bearer ${token}`)
  return { ...init, headers }
}
