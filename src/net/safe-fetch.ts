import { lookup as systemLookup } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
import type { Agent } from 'undici'
import { type AddressTrust, RefusedFetch, type SafeFetch } from '../ports/safe-fetch.ts'
import { limitResponse } from './bounded-response.ts'
import { isPublicAddress } from './public-address.ts'

export type ResolvedAddress = { address: string; family: number }

export type SafeFetchOptions = {
  trust: AddressTrust
  /** Allows http:// for `public` addresses. Configured addresses may always use it. */
  plainHttp?: boolean
  /** `host:port` pairs that are always allowed. */
  allow?: readonly string[]
  maxRedirects?: number
  /** Refuses redirects that would drop the request body. */
  keepBody?: boolean
  /** Maximum response size after decompression. */
  maxBytes?: number
  /** From the first request to the headers of the last response; 0 for no limit but the caller's signal. */
  headersTimeoutMs?: number
  /** Maximum silence while the body is read; 0 for no limit. */
  idleTimeoutMs?: number
  resolve?(host: string): Promise<ResolvedAddress[]>
}

const REDIRECTS = new Set([301, 302, 303, 307, 308])
/** Headers kept on a redirect to another origin; any other header may hold a secret. */
const HARMLESS_HEADERS = new Set(['accept', 'accept-language', 'content-type', 'user-agent'])

/**
 * `fetch` for caller-supplied URLs. Each name is resolved once, and the socket connects to the address that was
 * checked.
 */
export function newSafeFetch(options: SafeFetchOptions): SafeFetch {
  const { maxRedirects = 5, maxBytes = 10 * 1024 * 1024, headersTimeoutMs = 30_000 } = options
  const agents = lazyAgents(options)

  return async (address, init = {}) => {
    const first = new URL(address)
    const late = new AbortController()
    const isLate = () => late.abort(new Error(`no response within ${headersTimeoutMs} ms`))
    const timer = headersTimeoutMs > 0 ? setTimeout(isLate, headersTimeoutMs) : undefined
    const signal = init.signal ? AbortSignal.any([init.signal, late.signal]) : late.signal
    try {
      let hop: Hop = { url: first, init: { ...init, signal } }
      for (let count = 0; ; count++) {
        const response = await send(hop, first)
        const next = init.redirect === 'manual' ? undefined : nextHop(response, hop)
        if (!next) return limitResponse(response, { url: hop.url.href, maxBytes })
        await response.body?.cancel()
        if (init.redirect === 'error')
          throw new RefusedFetch(`${hop.url.origin} redirects, and this request does not allow redirects`)
        if (options.keepBody && next.init.method !== hop.init.method)
          throw new RefusedFetch(`${hop.url.host} redirects in a way that drops the request body (use 307 or 308)`)
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

/** Checks an address without any network access, DNS included. */
export function addressFault(text: string, { trust, plainHttp, allow }: SafeFetchOptions): string | undefined {
  if (!URL.canParse(text)) return 'it is not a valid URL'
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
    throw new RefusedFetch(`only https and http URLs are allowed, not ${url.protocol.slice(0, 20)}`)
  if (url.username || url.password) throw new RefusedFetch('a URL must not contain a user name or a password')
}

function requirePublic(url: URL, plainHttp: boolean): void {
  if (url.protocol === 'http:' && !plainHttp) throw new RefusedFetch(`${url.host} must be called over https`)
  const literal = url.hostname.replace(/^\[|\]$/g, '')
  if (LOCAL_NAME.test(url.hostname)) throw notPublic(url.hostname)
  // Host names are checked in `pinnedLookup`, when they are resolved.
  if (isIP(literal) && !isPublicAddress(literal)) throw notPublic(url.hostname)
}

/** Always this machine (RFC 6761). */
const LOCAL_NAME = /(^|\.)localhost\.?$/i

const notPublic = (host: string) => new RefusedFetch(`${host} is not on the public internet`)

const isAllowed = (url: URL, allow: readonly string[] = []): boolean => allow.includes(`${url.hostname}:${portOf(url)}`)

const portOf = ({ port, protocol }: URL): string => port || (protocol === 'https:' ? '443' : '80')

/** True also for http to https on their default ports. */
const isSameHost = (one: URL, other: URL): boolean => one.hostname === other.hostname && one.port === other.port

/** The next request of a redirect; undefined if the response is final. */
function nextHop({ status, headers }: Response, { url, init }: Hop): Hop | undefined {
  const location = headers.get('location')
  if (!REDIRECTS.has(status) || location === null) return undefined
  if (!URL.canParse(location, url.href)) throw new RefusedFetch('it redirects to an invalid URL')
  const target = new URL(location, url)
  const method = (init.method ?? 'GET').toUpperCase()
  const becomesGet = status === 303 ? method !== 'HEAD' : status < 303 && method === 'POST'
  const isReplayable = init.body == null || typeof init.body === 'string' || init.body instanceof Uint8Array
  if (!becomesGet && !isReplayable)
    throw new RefusedFetch('it redirects, and a streamed request body cannot be sent again')
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

/** Loaded with the first request: importing undici takes a tenth of a second. */
function lazyAgents({ resolve = resolveBySystem, idleTimeoutMs = 60_000 }: SafeFetchOptions): () => Promise<Agents> {
  let made: Promise<Agents> | undefined
  const make = async (): Promise<Agents> => {
    // The default export: in a bundle, a CommonJS package has no other.
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

/** DNS lookup for the socket itself, so that no second lookup happens between the check and the connection. */
export function pinnedLookup(
  resolve: (host: string) => Promise<ResolvedAddress[]>,
  wanted: 'public' | 'any',
): LookupFunction {
  return (host, { all }, callback) => {
    resolve(host).then(
      (found) => {
        const [first] = found
        // All addresses must be public: a name with public and private addresses is an attempt to bypass this check.
        const isFit = first && (wanted === 'any' || found.every(({ address }) => isPublicAddress(address)))
        if (!isFit) callback(notPublic(host), '', 0)
        else if (all) callback(null, found)
        else callback(null, first.address, first.family)
      },
      (fault) => callback(fault, '', 0),
    )
  }
}
