/** Loopback host names. */
const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]', '::1'])

export const isLoopback = (host: string): boolean => LOOPBACK.has(host.toLowerCase())

/**
 * Whether Host and Origin are allowed: protection against CSRF and DNS rebinding. A foreign page can make a browser
 * send requests to this server, but it cannot forge these two headers. Pages of the configured CORS origins may call it.
 */
export function isAllowedOrigin(
  { host, origin }: { host?: string | undefined; origin?: string | undefined },
  { isLocal, corsOrigins = [], hosts = [] }: OriginRules,
): boolean {
  if (!isAllowedHost(withoutPort(host ?? ''), { isLocal, hosts })) return false
  if (origin === undefined) return true
  if (corsOrigins.includes(origin)) return true
  if (!URL.canParse(origin)) return false
  const { hostname, host: originHost } = new URL(origin)
  return (isLocal && isLoopback(hostname)) || originHost === host
}

type OriginRules = {
  isLocal: boolean
  corsOrigins?: readonly string[] | undefined
  /** Names besides those of loopback. Without any, a public address has every name. */
  hosts?: readonly string[] | undefined
}

export const isAllowedHost = (name: string, { isLocal, hosts = [] }: Pick<OriginRules, 'isLocal' | 'hosts'>): boolean =>
  isLoopback(name) || hosts.includes(name.toLowerCase()) || (!isLocal && hosts.length === 0)

/** A host without its port; an IPv6 address keeps its brackets. */
const withoutPort = (host: string): string => /^(\[[^\]]*\]|[^:]*)(:\d+)?$/.exec(host)?.[1] ?? ''
