import { isIPv6 } from 'node:net'

/** Rate limit key of a client: its IPv4 address, or its IPv6 /64 network, which providers assign as a whole. */
export function addressGroup(ip: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(ip)?.[1]
  if (mapped) return mapped
  if (!isIPv6(ip)) return ip
  const [front = '', back = ''] = ip.split('%')[0]!.split('::')
  const groupsIn = (part: string) => part.split(':').filter(Boolean)
  const [first, last] = [groupsIn(front), groupsIn(back)]
  const zeros = Array.from({ length: Math.max(0, 8 - first.length - last.length) }, () => '0')
  const groups = [...first, ...(ip.includes('::') ? zeros : []), ...last]
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`
}
