import type { OrganizationId } from '../core/id.ts'
import type { Limits } from '../core/limits.ts'
import type { Caller, KeyId } from '../core/people.ts'
import { Problem } from '../core/problem.ts'

/** A counter of bytes in memory for requests that arrive and answers that were not read yet. */
type Pot = { name: string; limit: number; used: number }

/** The bytes of one caller. */
export type ByteAccount = {
  /** The problem of a caller that has no room for more. */
  refusal(): Problem | undefined
  /** Counts the bytes, also beyond the limit: what has begun is finished. Returns the function that takes them back. */
  hold(bytes: number): () => void
}

export type ByteBudget = {
  accountOf(caller: Caller | undefined, address: string): ByteAccount
  /** Bytes that a key or an organization has in flight. */
  heldBy(id: KeyId | OrganizationId): number
}

type BudgetLimits = Pick<Limits, 'bytesInFlight' | 'bytesInFlightPerKey'>

/** The home's own key still has room when others have used the whole budget. */
const HOME_RESERVE = 1.5

/**
 * Bounds the bytes in flight per key, per organization (half of the server's) and per server. A caller is refused once
 * it is at a limit, so that one answer of any size always fits.
 */
export function newByteBudget({ bytesInFlight, bytesInFlightPerKey }: BudgetLimits): ByteBudget {
  const server: Pot = { name: 'server', limit: bytesInFlight, used: 0 }
  const pots = new Map<string, Pot>()

  const potOf = (name: string, limit: number): Pot => pots.get(name) ?? { name, limit, used: 0 }

  function potsOf(caller: Caller | undefined, address: string): Pot[] {
    if (caller?.actor === 'home') return [server]
    if (!caller) return [potOf(`address ${address}`, bytesInFlightPerKey), server]
    const ofOrganization = potOf(`organization ${caller.organizationId}`, Math.ceil(bytesInFlight / 2))
    return [potOf(`key ${caller.actor}`, bytesInFlightPerKey), ofOrganization, server]
  }

  function change(pot: Pot, bytes: number): void {
    pot.used += bytes
    if (pot === server) return
    if (pot.used > 0) pots.set(pot.name, pot)
    else pots.delete(pot.name)
  }

  return {
    heldBy: (id) => (pots.get(`key ${id}`) ?? pots.get(`organization ${id}`))?.used ?? 0,
    accountOf(caller, address) {
      const factor = caller?.actor === 'home' ? HOME_RESERVE : 1
      return {
        refusal() {
          const full = potsOf(caller, address).find(({ used, limit }) => used >= limit * factor)
          return full && (full === server ? serverIsFull(full) : callerIsFull(full))
        },
        hold(bytes) {
          const held = potsOf(caller, address)
          for (const pot of held) change(pot, bytes)
          let isHeld = true
          return () => {
            if (isHeld) for (const { name } of held) change(name === 'server' ? server : pots.get(name)!, -bytes)
            isHeld = false
          }
        },
      }
    },
  }
}

const serverIsFull = ({ limit }: Pot) =>
  new Problem(
    'unavailable',
    `The server holds ${limit} bytes of requests and unread answers, which is its limit (limits.bytes_in_flight). Try again in a moment.`,
  )

const callerIsFull = ({ name, limit }: Pot) =>
  new Problem(
    'queue-full',
    name.startsWith('organization')
      ? `This organization has ${limit} bytes of requests and unread answers in flight, which is its limit (half of limits.bytes_in_flight). Read the answers, or ask for smaller pages.`
      : `This key has ${limit} bytes of requests and unread answers in flight, which is its limit (limits.bytes_in_flight_per_key). Read the answers, or ask for smaller pages.`,
  )
