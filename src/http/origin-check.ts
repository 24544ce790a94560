/** Names under which a machine reaches itself. */
const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]', '::1'])

export const isLoopback = (host: string): boolean => LOOPBACK.has(host.toLowerCase())

/**
 * Whether a request comes from where it should. A page of a stranger can make a browser send requests here, under a name
 * that leads to this machine; what gives it away is the name in Host and the page in Origin.
 */
export function isAllowedOrigin(
  { host, origin }: { host?: string | undefined; origin?: string | undefined },
  { isLocal }: { isLocal: boolean },
): boolean {
  if (isLocal && !isLoopback(withoutPort(host ?? ''))) return false
  if (origin === undefined) return true
  if (!URL.canParse(origin)) return false
  const { hostname, host: originHost } = new URL(origin)
  return (isLocal && isLoopback(hostname)) || originHost === host
}

/** Without the port; an address of IPv6 keeps its brackets. */
const withoutPort = (host: string): string => /^(\[[^\]]*\]|[^:]*)(:\d+)?$/.exec(host)?.[1] ?? ''
