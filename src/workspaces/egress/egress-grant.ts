import { type AllowedDomain, parseDomain, THIS_SERVER } from '../../core/egress-domain.ts'
import type { SecretBox } from '../../ports/secret-box.ts'

/** What one program may reach, until a time. It is sealed, so any server of the home understands it after a restart. */
type EgressGrant = { domains: string[]; until: number }

export type GrantedEgress = { domains: AllowedDomain[]; mayReachServer: boolean }

const CONTEXT = 'egress of a program'

/** The password of a program at the proxy. */
export const sealGrant = (grant: EgressGrant, box: SecretBox): string =>
  Buffer.from(box.seal(JSON.stringify(grant), CONTEXT)).toString('base64url')

/** Undefined if no server of this home made it, or its time is over. */
export function openGrant(password: string, box: SecretBox, now: number): GrantedEgress | undefined {
  const text = box.open(Buffer.from(password, 'base64url').toString(), CONTEXT)
  if (text === undefined) return undefined
  const { domains, until } = JSON.parse(text) as EgressGrant
  if (now > until) return undefined
  const mayReachServer = domains.includes(THIS_SERVER)
  return {
    domains: domains.filter((one) => one !== THIS_SERVER).flatMap((one) => parseDomain(one) ?? []),
    mayReachServer,
  }
}

/** The password of a `Proxy-Authorization: Basic` header. */
export function passwordIn(header: string | undefined): string | undefined {
  const encoded = /^Basic\s+(\S+)$/i.exec(header ?? '')?.[1]
  if (encoded === undefined) return undefined
  const text = Buffer.from(encoded, 'base64').toString()
  return text.slice(text.indexOf(':') + 1)
}
