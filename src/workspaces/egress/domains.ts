/** One line of the list: a name, or `*.` before one for all below it; with a port, or those of the web without one. */
type AllowedDomain = { name: string; isWildcard: boolean; ports: readonly number[] }

const WEB_PORTS = [80, 443]
const LINE = /^(\*\.)?([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)(?::(\d{1,5}))?$/

/** Undefined for what is no domain. */
export function parseDomain(text: string): AllowedDomain | undefined {
  const found = LINE.exec(text.trim().toLowerCase())
  if (!found) return undefined
  const [, below, name, port] = found
  if (port !== undefined && (Number(port) < 1 || Number(port) > 65_535)) return undefined
  return { name: name!, isWildcard: below !== undefined, ports: port === undefined ? WEB_PORTS : [Number(port)] }
}

export function isAllowedHost(domains: readonly AllowedDomain[], host: string, port: number): boolean {
  const asked = host.toLowerCase().replace(/\.$/, '')
  return domains.some(
    ({ name, isWildcard, ports }) =>
      ports.includes(port) &&
      (isWildcard ? asked.endsWith(`.${name}`) && asked.length > name.length + 1 : asked === name),
  )
}

/** `host:port` as a CONNECT has it. */
export function parseHostPort(text: string): { host: string; port: number } | undefined {
  const found = /^(\[[0-9a-f:.]+\]|[^:/@\s]+):(\d{1,5})$/i.exec(text)
  return found ? { host: found[1]!.replace(/^\[|\]$/g, ''), port: Number(found[2]) } : undefined
}
