import { randomBytes } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { SecretBox } from '../ports/secret-box.ts'

const COOKIE_LIFE_MS = 30 * 24 * 3_600_000
const LINK_LIFE_MS = 10 * 60_000
const SEAL_CONTEXT = 'console-session'
const LINK_PREFIX = 'link-'
/** Opening a sealed cookie takes 10 µs, and a page sends the same one with each request. */
const MAX_OPENED = 1_000

/** What a request's cookie says. `foreign`: the page that sent the request is not one of this server. */
type CookieClaim = { type: 'none' } | { type: 'foreign' } | { type: 'key'; token: string }

export type ConsoleSessions = {
  claimOf(request: FastifyRequest): CookieClaim
  /** The Set-Cookie header that signs a browser in with this key. */
  cookieFor(token: string, request: FastifyRequest): string
  /** The Set-Cookie header that signs it out. */
  expired(): string
  /** A token that signs in once, within ten minutes, with the key of the home. */
  newLink(): string
  /** Whether this is an unused link; it is used then. */
  takeLink(token: string): boolean
}

type Opened = { token: string; until: number }

/**
 * A browser keeps the key it was signed in with, sealed by the key file of the home, in a cookie that no script reads.
 * It needs no row: revoking the key ends it, and every server of the home can open it, after a restart too.
 */
export function newConsoleSessions({ box, homeId }: { box: SecretBox; homeId: string }): ConsoleSessions {
  // Cookies ignore the port: two homes of one machine need two names.
  const name = `holdfast-${homeId}`
  const opened = new Map<string, Opened>()
  const links = new Map<string, number>()

  function open(sealed: string): string | undefined {
    const known = opened.get(sealed) ?? read(sealed)
    if (!known || known.until <= Date.now()) return undefined
    if (opened.size >= MAX_OPENED) opened.clear()
    opened.set(sealed, known)
    return known.token
  }

  function read(sealed: string): Opened | undefined {
    const text = box.open(Buffer.from(sealed, 'base64url').toString('utf8'), SEAL_CONTEXT)
    const [, until, token] = /^(\d+) (.+)$/.exec(text ?? '') ?? []
    return until && token ? { until: Number(until), token } : undefined
  }

  const attributes = (request?: FastifyRequest) =>
    `Path=/; HttpOnly; SameSite=Strict${request?.protocol === 'https' ? '; Secure' : ''}`

  return {
    claimOf(request) {
      const sealed = cookieOf(request.headers.cookie, name)
      const token = sealed === undefined ? undefined : open(sealed)
      if (token === undefined) return { type: 'none' }
      return isFromOwnPage(request) ? { type: 'key', token } : { type: 'foreign' }
    },
    cookieFor(token, request) {
      const sealed = Buffer.from(box.seal(`${Date.now() + COOKIE_LIFE_MS} ${token}`, SEAL_CONTEXT)).toString(
        'base64url',
      )
      return `${name}=${sealed}; Max-Age=${COOKIE_LIFE_MS / 1_000}; ${attributes(request)}`
    },
    expired: () => `${name}=; Max-Age=0; ${attributes()}`,
    newLink() {
      const token = `${LINK_PREFIX}${randomBytes(24).toString('base64url')}`
      links.set(token, Date.now() + LINK_LIFE_MS)
      return token
    },
    takeLink(token) {
      const until = links.get(token)
      links.delete(token)
      return until !== undefined && until > Date.now()
    },
  }
}

export const isLink = (token: string): boolean => token.startsWith(LINK_PREFIX)

function cookieOf(header: string | undefined, name: string): string | undefined {
  for (const part of header?.split(';') ?? []) {
    const [key, value] = part.trim().split('=', 2)
    if (key === name && value) return value
  }
  return undefined
}

/**
 * Browsers say which page sent a request, and no page can forge it. A page of another port of this machine is the same
 * site but not the same origin: a page that an agent serves must not use the console's cookie.
 */
function isFromOwnPage({ headers, host, protocol }: FastifyRequest): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin'
  return headers.origin === `${protocol}://${host}`
}
