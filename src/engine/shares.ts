import { defined } from '../core/defined.ts'
import type { OrganizationId } from '../core/id.ts'
import type { Limits } from '../core/limits.ts'
import { limitsFor, type OrganizationPolicy } from '../core/organization-limits.ts'
import type { Price } from '../core/price.ts'
import { reserveSpending } from '../core/spending.ts'
import { parseTarget, type Target } from '../core/target.ts'
import type { Clock } from '../ports/clock.ts'
import type { ShareStore, Shares } from '../ports/shares.ts'

type SharesDeps = {
  store: Pick<ShareStore, 'policyOf' | 'spend' | 'storedBytes'>
  clock: Clock
  limits: Limits
  priceOf(target: Target): Price | undefined
}

type KnownPolicy = { policy: OrganizationPolicy; readAt: number }

/** A policy that an operator changes in another process applies here after this long. */
const FRESH_FOR_MS = 1_000
const MAX_KNOWN = 10_000
const NONE: OrganizationPolicy = { limits: {} }

/** The shares of organizations: policies read once a second, and amounts reserved in the store. */
export function newShares({ store, clock, limits, priceOf }: SharesDeps): Shares {
  const known = new Map<OrganizationId, KnownPolicy>()
  const stored = new Map<OrganizationId, { bytes: number; readAt: number }>()

  async function policyOf(id: OrganizationId): Promise<OrganizationPolicy> {
    const before = known.get(id)
    if (before && clock.now() - before.readAt < FRESH_FOR_MS) return before.policy
    const readAt = clock.now()
    const policy = (await store.policyOf(id)) ?? NONE
    known.delete(id)
    known.set(id, { policy, readAt })
    if (known.size > MAX_KNOWN) known.delete(known.keys().next().value!)
    return policy
  }

  /** The count of the store, and since then what was taken here. */
  async function storedBy(id: OrganizationId): Promise<{ bytes: number }> {
    const before = stored.get(id)
    if (before && clock.now() - before.readAt < FRESH_FOR_MS) return before
    const readAt = clock.now()
    const counted = { bytes: await store.storedBytes(id), readAt }
    stored.delete(id)
    stored.set(id, counted)
    if (stored.size > MAX_KNOWN) stored.delete(stored.keys().next().value!)
    return counted
  }

  return {
    policyOf,
    limitsOf: async (id) => limitsFor(id, await policyOf(id), limits),
    runningTurnsOf: (id) => limitsFor(id, known.get(id)?.policy ?? NONE, limits).turnsPerOrganization,
    forget(id) {
      known.delete(id)
      stored.delete(id)
    },
    async takeRoom(id, bytes) {
      const limit = limitsFor(id, await policyOf(id), limits).storedBytesPerOrganization
      if (limit === 0) return { type: 'enough' }
      const counted = await storedBy(id)
      if (counted.bytes + bytes > limit) return { type: 'full', limit, used: counted.bytes }
      counted.bytes += bytes
      return { type: 'enough' }
    },
    async reserve(request) {
      const { organizationId, handle, keyId } = request
      const own = limitsFor(organizationId, await policyOf(organizationId), limits)
      const bounds = {
        microDollars: own.dollarsPerDayPerOrganization * 1_000_000,
        microDollarsOfKey: keyId ? limits.dollarsPerDayPerKey * 1_000_000 : 0,
        tokens: own.tokensPerDayPerOrganization,
      }
      const target = parseTarget(handle)
      const price = target && priceOf(target)
      const plan = reserveSpending(request, { bounds, ...defined({ price }) })
      if (!plan) return UNLIMITED
      const day = new Date(clock.now()).toISOString().slice(0, 10)
      const refused = await store.spend({ organizationId, day, changes: plan.reserved })
      if (refused !== 'spent') return { type: 'refused', detail: plan.refusal(refused) }
      return {
        type: 'reserved',
        async settle(usage) {
          const changes = usage && plan.settled(usage)
          if (changes) await store.spend({ organizationId, day, changes })
        },
      }
    },
  }
}

/** Without a limit nothing is counted: the requests of most servers cost no write. */
const UNLIMITED = { type: 'reserved' as const, settle: async () => undefined }
