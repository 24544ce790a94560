/**
 * One entry of the allow list: a name, or `*.name` for all its subdomains; with a port, or ports 80 and 443 without
 * one.
 */
export type AllowedDomain = { name: string; isWildcard: boolean; ports: readonly number[] }

/** In the list of a tool: this server itself, at `http://holdfast`. */
export const THIS_SERVER = 'holdfast'

/** The longest list of a tool or an agent. */
export const MAX_EGRESS_DOMAINS = 100

const WEB_PORTS = [80, 443]
const DOMAIN_PATTERN = /^(\*\.)?([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)(?::(\d{1,5}))?$/

/** Undefined if the text is not a domain. */
export function parseDomain(text: string): AllowedDomain | undefined {
  const found = DOMAIN_PATTERN.exec(text.trim().toLowerCase())
  if (!found) return undefined
  const [, below, name, port] = found
  if (port !== undefined && (Number(port) < 1 || Number(port) > 65_535)) return undefined
  return { name: name!, isWildcard: below !== undefined, ports: port === undefined ? WEB_PORTS : [Number(port)] }
}

export function isAllowedHost(domains: readonly AllowedDomain[], host: string, port: number): boolean {
  const requested = host.toLowerCase().replace(/\.$/, '')
  return domains.some(
    ({ name, isWildcard, ports }) =>
      ports.includes(port) &&
      (isWildcard ? requested.endsWith(`.${name}`) && requested.length > name.length + 1 : requested === name),
  )
}

/** `host:port`, the target of a CONNECT request. */
export function parseHostPort(text: string): { host: string; port: number } | undefined {
  const found = /^(\[[0-9a-f:.]+\]|[^:/@\s]+):(\d{1,5})$/i.exec(text)
  return found ? { host: found[1]!.replace(/^\[|\]$/g, ''), port: Number(found[2]) } : undefined
}
