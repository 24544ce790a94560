import { lookup as systemLookup } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
import type { Agent } from 'undici'
import { type AddressTrust, RefusedFetch, type SafeFetch } from '../ports/safe-fetch.ts'
import { limitResponse } from './bounded-response.ts'
import { isPublicAddress } from './public-address.ts'

export type ResolvedAddress = { address: string; family: number }

export type SafeFetchOptions = {
  trust: AddressTrust
  /** Without TLS; only where it is said. Configured addresses may always be. */
  plainHttp?: boolean
  /** `host:port` of what may be reached wherever it is. */
  allow?: readonly string[]
  maxRedirects?: number
  /** A redirect that would ask without what is sent is refused. */
  keepBody?: boolean
  /** Of an answer, as it is after decompression. */
  maxBytes?: number
  /** From the first request to the headers of the last answer; 0 for as long as the caller's signal lets it. */
  headersTimeoutMs?: number
  /** How long an answer may be silent; 0 for as long as it likes. */
  idleTimeoutMs?: number
  resolve?(host: string): Promise<ResolvedAddress[]>
}

const REDIRECTS = new Set([301, 302, 303, 307, 308])
/** What may follow a redirect to another origin; whatever else a caller sends may be a secret. */
const HARMLESS_HEADERS = new Set(['accept', 'accept-language', 'content-type', 'user-agent'])

/** The one way out for addresses that are not our own. A name is resolved once, and what was judged is connected to. */
export function newSafeFetch(options: SafeFetchOptions): SafeFetch {
  const { maxRedirects = 5, maxBytes = 10 * 1024 * 1024, headersTimeoutMs = 30_000 } = options
  const agents = lazyAgents(options)

  return async (given, init = {}) => {
    const first = new URL(given)
    const late = new AbortController()
    const isLate = () => late.abort(new Error(`no answer within ${headersTimeoutMs} ms`))
    const timer = headersTimeoutMs > 0 ? setTimeout(isLate, headersTimeoutMs) : undefined
    const signal = init.signal ? AbortSignal.any([init.signal, late.signal]) : late.signal
    try {
      let hop: Hop = { url: first, init: { ...init, signal } }
      for (let count = 0; ; count++) {
        const response = await send(hop, first)
        const next = init.redirect === 'manual' ? undefined : nextHop(response, hop)
        if (!next) return limitResponse(response, { url: hop.url.href, maxBytes })
        await response.body?.cancel()
        if (init.redirect === 'error') throw new RefusedFetch(`${hop.url.origin} redirects, which was not wanted`)
        if (options.keepBody && next.init.method !== hop.init.method)
          throw new RefusedFetch(`${hop.url.host} redirects in a way that drops what is sent`)
        if (count >= maxRedirects) throw new RefusedFetch(`more than ${maxRedirects} redirects`)
        hop = next
      }
    } finally {
      clearTimeout(timer)
    }
  }

  async function send({ url, init }: Hop, first: URL): Promise<Response> {
    requireHttpUrl(url)
    const isTrusted = isAllowed(url, options.allow) || (options.trust === 'configured' && isSameHost(url, first))
    if (!isTrusted) requirePublic(url, options.plainHttp ?? false)
    const { undici, guarded, open } = await agents()
    try {
      const request = { ...init, redirect: 'manual', dispatcher: isTrusted ? open : guarded }
      return (await undici.fetch(url, request as never)) as unknown as Response
    } catch (fault) {
      throw (fault as Error).cause instanceof RefusedFetch ? (fault as Error).cause : fault
    }
  }
}

/** What would be refused without asking anybody, a resolver included. */
export function addressFault(text: string, { trust, plainHttp, allow }: SafeFetchOptions): string | undefined {
  if (!URL.canParse(text)) return 'it is not a URL'
  const url = new URL(text)
  try {
    requireHttpUrl(url)
    if (trust === 'public' && !isAllowed(url, allow)) requirePublic(url, plainHttp ?? false)
    return undefined
  } catch (fault) {
    return (fault as Error).message
  }
}

type Hop = { url: URL; init: RequestInit }

function requireHttpUrl(url: URL): void {
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw new RefusedFetch(`only https and http are fetched, not ${url.protocol.slice(0, 20)}`)
  if (url.username || url.password) throw new RefusedFetch('an address may not hold a user name or a password')
}

function requirePublic(url: URL, plainHttp: boolean): void {
  if (url.protocol === 'http:' && !plainHttp) throw new RefusedFetch(`${url.host} must be asked over https`)
  const literal = url.hostname.replace(/^\[|\]$/g, '')
  if (LOCAL_NAME.test(url.hostname)) throw notPublic(url.hostname)
  // A name is judged by what it resolves to, where that is connected to.
  if (isIP(literal) && !isPublicAddress(literal)) throw notPublic(url.hostname)
}

/** Never anything else than this machine (RFC 6761). */
const LOCAL_NAME = /(^|\.)localhost\.?$/i

const notPublic = (host: string) => new RefusedFetch(`${host} is not on the public internet`)

const isAllowed = (url: URL, allow: readonly string[] = []): boolean => allow.includes(`${url.hostname}:${portOf(url)}`)

const portOf = ({ port, protocol }: URL): string => port || (protocol === 'https:' ? '443' : '80')

/** Also from http to https on their usual ports. */
const isSameHost = (one: URL, other: URL): boolean => one.hostname === other.hostname && one.port === other.port

/** Where an answer sends us, and what we take along. */
function nextHop({ status, headers }: Response, { url, init }: Hop): Hop | undefined {
  const location = headers.get('location')
  if (!REDIRECTS.has(status) || location === null) return undefined
  if (!URL.canParse(location, url.href)) throw new RefusedFetch('it redirects to what is no address')
  const target = new URL(location, url)
  const method = (init.method ?? 'GET').toUpperCase()
  const becomesGet = status === 303 ? method !== 'HEAD' : status < 303 && method === 'POST'
  const isReplayable = init.body == null || typeof init.body === 'string' || init.body instanceof Uint8Array
  if (!becomesGet && !isReplayable) throw new RefusedFetch('it redirects what cannot be sent twice')
  const taken = new Headers(init.headers)
  if (target.origin !== url.origin)
    for (const name of [...taken.keys()]) if (!HARMLESS_HEADERS.has(name)) taken.delete(name)
  if (!becomesGet) return { url: target, init: { ...init, headers: taken } }
  taken.delete('content-type')
  const { body: _, ...rest } = init
  return { url: target, init: { ...rest, method: 'GET', headers: taken } }
}

const CONNECT_MS = 10_000

type Agents = { undici: typeof import('undici'); guarded: Agent; open: Agent }

/** Made with the first request: the library takes a tenth of a second to load. */
function lazyAgents({ resolve = resolveBySystem, idleTimeoutMs = 60_000 }: SafeFetchOptions): () => Promise<Agents> {
  let made: Promise<Agents> | undefined
  const make = async (): Promise<Agents> => {
    // By its default: bundled, a package that is no module has no other export.
    const undici = (await import('undici')).default as unknown as typeof import('undici')
    const agentWith = (lookup: LookupFunction) =>
      new undici.Agent({ connect: { lookup, timeout: CONNECT_MS }, bodyTimeout: idleTimeoutMs, headersTimeout: 0 })
    return {
      undici,
      guarded: agentWith(pinnedLookup(resolve, 'public')),
      open: agentWith(pinnedLookup(resolve, 'any')),
    }
  }
  return () => {
    made ??= make()
    return made
  }
}

const resolveBySystem = (host: string): Promise<ResolvedAddress[]> => systemLookup(host, { all: true })

/** What a socket is connected by: there is no second look at the name between the judgment and the connection. */
export function pinnedLookup(
  resolve: (host: string) => Promise<ResolvedAddress[]>,
  wanted: 'public' | 'any',
): LookupFunction {
  return (host, { all }, callback) => {
    resolve(host).then(
      (found) => {
        const [first] = found
        // One that is not public is enough: a name that leads to both is made to get past this very check.
        const isFit = first && (wanted === 'any' || found.every(({ address }) => isPublicAddress(address)))
        if (!isFit) callback(notPublic(host), '', 0)
        else if (all) callback(null, found)
        else callback(null, first.address, first.family)
      },
      (fault) => callback(fault, '', 0),
    )
  }
}
