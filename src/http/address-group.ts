import { isIPv6 } from 'node:net'

/** What one guesser can be told by: an address of IPv4, or the 64 bits of IPv6 that are given out as a whole. */
export function addressGroup(ip: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(ip)?.[1]
  if (mapped) return mapped
  if (!isIPv6(ip)) return ip
  const [front = '', back = ''] = ip.split('%')[0]!.split('::')
  const given = (part: string) => part.split(':').filter(Boolean)
  const [first, last] = [given(front), given(back)]
  const zeros = Array.from({ length: Math.max(0, 8 - first.length - last.length) }, () => '0')
  const groups = [...first, ...(ip.includes('::') ? zeros : []), ...last]
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`
}
