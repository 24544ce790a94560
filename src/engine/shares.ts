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
  store: Pick<ShareStore, 'policyOf' | 'spend'>
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

  return {
    policyOf,
    limitsOf: async (id) => limitsFor(id, await policyOf(id), limits),
    runningTurnsOf: (id) => limitsFor(id, known.get(id)?.policy ?? NONE, limits).turnsPerOrganization,
    forget: (id) => void known.delete(id),
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
