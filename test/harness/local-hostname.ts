import { lookup } from 'node:dns/promises'
import { hostname } from 'node:os'
import { isPublicAddress } from '../../src/net/public-address.ts'

/** A hostname that resolves to this machine or its network without looking local; undefined if there is none. */
export async function findLocalHostname(): Promise<string | undefined> {
  for (const name of [hostname(), 'ip6-localhost', 'ip6-loopback']) {
    const found = await lookup(name, { all: true }).catch(() => [])
    if (found.length > 0 && found.every(({ address }) => !isPublicAddress(address))) return name
  }
  return undefined
}
