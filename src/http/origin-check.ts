/** Loopback host names. */
const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]', '::1'])

export const isLoopback = (host: string): boolean => LOOPBACK.has(host.toLowerCase())

/**
 * Whether Host and Origin are allowed: protection against CSRF and DNS rebinding. A foreign page can make a browser
 * send requests to this server, but it cannot forge these two headers. Pages of the configured CORS origins may call it.
 */
export function isAllowedOrigin(
  { host, origin }: { host?: string | undefined; origin?: string | undefined },
  { isLocal, corsOrigins = [] }: { isLocal: boolean; corsOrigins?: readonly string[] | undefined },
): boolean {
  if (isLocal && !isLoopback(withoutPort(host ?? ''))) return false
  if (origin === undefined) return true
  if (corsOrigins.includes(origin)) return true
  if (!URL.canParse(origin)) return false
  const { hostname, host: originHost } = new URL(origin)
  return (isLocal && isLoopback(hostname)) || originHost === host
}

/** A host without its port; an IPv6 address keeps its brackets. */
const withoutPort = (host: string): string => /^(\[[^\]]*\]|[^:]*)(:\d+)?$/.exec(host)?.[1] ?? ''
