import { DEFAULT_ORGANIZATION } from '../../../src/core/id.ts'
import type { Store } from '../../../src/ports/store.ts'
import { plainBox } from '../../harness/stubs.ts'
import { EPOCH } from './process.ts'
import { FLOW, type TokenClient } from './token-server.ts'
import type { Vendors } from './vendors.ts'

const ID = 'credential-login'

export type Logins = {
  /** Signs in: creates the credential or revives it. */
  logIn(store: Pick<Store, 'credentials'>): Promise<void>
  tokenUsed(token: string, client: TokenClient): void
  responseLost(token: string): void
}

type LoginsDeps = {
  vendors: Vendors
  now(): number
  /** Refresh claims expire by the clock: if clocks jump, two processes may hold one. */
  mayReuse(): boolean
  violate(text: string): void
}

/** The login of a simulated day. A refresh token is used once, unless its first user process died or got no response. */
export function newLogins({ vendors, now, mayReuse, violate }: LoginsDeps): Logins {
  const usedBy = new Map<string, TokenClient>()
  const lost = new Set<string>()
  return {
    async logIn({ credentials }) {
      const { secret, refreshToken, lastsMs } = vendors.issue()
      const at = EPOCH + now()
      const sealed = { secret: plainBox.seal(secret, ID), refreshToken: plainBox.seal(refreshToken, ID) }
      const known = await credentials.get(DEFAULT_ORGANIZATION, ID)
      const details = { oauth: { flow: FLOW }, expiresAt: at + lastsMs, sealed }
      if (known) {
        await credentials.renew(ID, { generation: known.generation, ...details, at })
        return
      }
      await credentials.add({
        id: ID,
        organizationId: DEFAULT_ORGANIZATION,
        provider: 'sim',
        label: 'login',
        kind: 'oauth',
        source: 'stored',
        priority: 0,
        useCount: 0,
        state: { type: 'ok' },
        generation: 1,
        createdAt: at,
        updatedAt: at,
        ...details,
      })
    },
    tokenUsed(token, client) {
      const first = usedBy.get(token)
      // A process paused beyond its claim cannot record that it used the token: another process must try.
      if (first?.isAlive && !first.isPaused && !lost.has(token) && !mayReuse())
        violate(`I8 a refresh token was used by ${first.name} and again by ${client.name}`)
      usedBy.set(token, client)
    },
    responseLost: (token) => void lost.add(token),
  }
}
