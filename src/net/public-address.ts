import { BlockList, isIP } from 'node:net'

/** IPv4 ranges that are not the public internet (IANA special-purpose registry). */
const NOT_PUBLIC_4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
]

/** The only IPv6 range assigned to the internet; most addresses that embed an IPv4 address are outside it. */
const PUBLIC_6 = ['2000::/3']

/** Exceptions within that range: tunnels to IPv4 addresses, documentation, benchmarks, identifiers. */
const NOT_PUBLIC_6 = ['2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20']

const notPublic4 = newBlockList(NOT_PUBLIC_4, 'ipv4')
const public6 = newBlockList(PUBLIC_6, 'ipv6')
const notPublic6 = newBlockList(NOT_PUBLIC_6, 'ipv6')

/** Whether an IP address is on the public internet. False for text that is not an address. */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !notPublic4.check(address, 'ipv4')
    case 6:
      return public6.check(address, 'ipv6') && !notPublic6.check(address, 'ipv6')
    default:
      return false
  }
}

function newBlockList(ranges: readonly string[], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList()
  for (const range of ranges) {
    const [network, bits] = range.split('/')
    list.addSubnet(network!, Number(bits), family)
  }
  return list
}
