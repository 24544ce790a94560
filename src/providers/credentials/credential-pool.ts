import { type CredentialId, maskedSecret, type PoolStrategy } from '../../core/credential.ts'
import { defined } from '../../core/defined.ts'
import type { OrganizationId } from '../../core/id.ts'
import type { Clock } from '../../ports/clock.ts'
import type { CredentialAdmin } from '../../ports/credential-admin.ts'
import type {
  ChooseOptions,
  CredentialChoice,
  Credentials,
  RefreshOptions,
  RefreshResult,
} from '../../ports/credentials.ts'
import type { Randomness } from '../../ports/randomness.ts'
import type { SecretBox } from '../../ports/secret-box.ts'
import type { Store } from '../../ports/store.ts'
import { type Candidate, toCandidates } from './candidates.ts'
import { startDeviceFlow } from './device-flow.ts'
import { fetchEntitlement } from './entitlement.ts'
import { type EnvironmentSource, isEnvironmentKey, readEnvironmentKeys } from './environment-keys.ts'
import { type FlowOverrides, findFlow } from './oauth-flows.ts'
import { pickCandidate } from './pool-strategy.ts'
import { redeemByFlow } from './redeem-by-flow.ts'
import { newRefreshOnce } from './refresh-once.ts'
import { storeTokens } from './store-tokens.ts'
import { newUseCounter } from './use-counter.ts'

export type CredentialPoolOptions = {
  organizationId: OrganizationId
  store: Pick<Store, 'credentials' | 'cooldowns'>
  box: SecretBox
  environment: readonly EnvironmentSource[]
  /** By provider; the default is `fill_first`. */
  strategies?: Readonly<Record<string, PoolStrategy>>
  flows?: FlowOverrides
  clock: Clock
  randomness: Randomness
  report(fault: unknown, where: string): void
  refreshLeaseMs?: number
}

export type CredentialPool = Credentials &
  CredentialAdmin & {
    /** Writes the uses that are not stored yet. */
    flush(): Promise<void>
  }

/** A token that expires while its request is in flight counts as expired. */
const EXPIRY_MARGIN_MS = 30_000
/** Slightly longer than the timeout of the token endpoint. */
const RENEWAL_TIMEOUT_MS = 16_000
/** After a failed renewal the old token is used for this long: the provider may still accept it. */
const RENEWAL_BACKOFF_MS = 60_000
const SWEEP_EVERY_MS = 60_000
const SWEEP_AFTER_MS = 60 * 60_000

export function newCredentialPool(options: CredentialPoolOptions): CredentialPool {
  const { organizationId, store, box, environment, strategies = {}, flows = {}, clock, randomness, report } = options
  const { credentials, cooldowns } = store
  const uses = newUseCounter({
    countUses: (counted) => credentials.countUses(counted),
    isStored: (id) => !isEnvironmentKey(id),
    clock,
    report,
  })
  const refreshOnce = newRefreshOnce({
    store: credentials,
    box,
    redeem: redeemByFlow(flows, clock),
    clock,
    randomness,
    report,
    ...defined({ leaseMs: options.refreshLeaseMs }),
  })
  const refreshStored = (id: CredentialId, { failedSecret, signal }: RefreshOptions) =>
    refreshOnce(id, { organizationId, failedSecret, signal })
  const lastPosition = new Map<string, number>()
  const nextRenewalAt = new Map<CredentialId, number>()
  let sweepAt = 0

  async function loadCandidates(
    provider: string,
    { at, payer }: Pick<ChooseOptions, 'at' | 'payer'>,
  ): Promise<Candidate[] | 'not-allowed'> {
    const pool = await credentials.pool(organizationId, provider)
    sweep(pool.cooldowns, at)
    if (payer && payer.organizationId !== organizationId) {
      const own = await credentials.pool(payer.organizationId, provider)
      const contents = { stored: own.credentials, environment: [], cooldowns: pool.cooldowns }
      if (own.credentials.length > 0) return toCandidates(contents, { box, flows, uncommittedUses: uses.uncommitted })
    }
    if (payer && !payer.mayUseServerKeys) return 'not-allowed'
    const keys = readEnvironmentKeys(environment.filter((source) => source.provider === provider))
    const contents = { stored: pool.credentials, environment: keys, cooldowns: pool.cooldowns }
    return toCandidates(contents, { box, flows, uncommittedUses: uses.uncommitted })
  }

  /** `renewed` was renewed a moment ago and is not renewed again. */
  async function choose(provider: string, request: ChooseOptions, renewed?: CredentialId): Promise<CredentialChoice> {
    const candidates = await loadCandidates(provider, request)
    if (candidates === 'not-allowed') return { type: 'not-allowed' }
    const usable = candidates.filter((candidate) => isUsable(candidate, request))
    const chosen = usable.find(({ id }) => id === request.preferred) ?? pick(provider, usable)
    if (!chosen) return toRefusal(candidates, request)
    if (chosen.id !== renewed && (await renewIfExpiring(chosen, request)))
      return choose(provider, { ...request, preferred: chosen.id }, chosen.id)
    lastPosition.set(provider, chosen.position)
    uses.count(chosen.id, request.at)
    return {
      type: 'granted',
      grant: chosen.grant,
      siblings: usable.length - 1,
      canRefresh: chosen.canRefresh,
      canRefreshEntitlement: chosen.canRefreshEntitlement,
      hasCooldown: chosen.cooldown !== undefined,
    }
  }

  function pick(provider: string, usable: Candidate[]): Candidate | undefined {
    if (usable.length === 0) return undefined
    const state = { lastPosition: lastPosition.get(provider) ?? -1, fraction: randomness.fraction() }
    return pickCandidate(strategies[provider] ?? 'fill_first', usable, state)
  }

  /** Renews an expired token, which would only cost a failed attempt. True: the row changed, load it again. */
  async function renewIfExpiring(
    { id, grant, expiresAt, canRefresh }: Candidate,
    request: ChooseOptions,
  ): Promise<boolean> {
    if (!canRefresh || expiresAt === undefined || expiresAt - request.at > EXPIRY_MARGIN_MS) return false
    if (clock.monotonic() < (nextRenewalAt.get(id) ?? 0)) return false
    const deadline = AbortSignal.timeout(RENEWAL_TIMEOUT_MS)
    const signal = request.signal ? AbortSignal.any([request.signal, deadline]) : deadline
    const refreshed = await refreshStored(id, { failedSecret: grant.secret, signal })
    const hasChanged = refreshed.type === 'refreshed' || refreshed.type === 'dead'
    // Set after the renewal, so that concurrent callers wait for it. An aborted call says nothing about the token.
    if (!hasChanged && !request.signal?.aborted) nextRenewalAt.set(id, clock.monotonic() + RENEWAL_BACKOFF_MS)
    return hasChanged
  }

  async function refresh(id: CredentialId, request: RefreshOptions): Promise<RefreshResult> {
    if (isEnvironmentKey(id)) return rereadEnvironmentKey(id, request)
    if (!request.entitlement) return refreshStored(id, request)
    return refreshEntitlement(id, request)
  }

  function rereadEnvironmentKey(id: CredentialId, { failedSecret }: RefreshOptions): RefreshResult {
    const key = readEnvironmentKeys(environment).find((one) => one.id === id)
    const isNew = key !== undefined && failedSecret !== '' && key.secret !== failedSecret
    return { type: isNew ? 'refreshed' : 'unchanged' }
  }

  /** A payment shows in the account first, and in the token only after its renewal. */
  async function refreshEntitlement(id: CredentialId, request: RefreshOptions): Promise<RefreshResult> {
    const row = await credentials.get(organizationId, id)
    const flow = row?.oauth && findFlow(row.oauth, flows)
    const secret = row && box.open(row.sealed.secret, id)
    if (!flow || secret === undefined) return { type: 'unchanged' }
    const answer = await fetchEntitlement(flow, secret, request.signal)
    switch (answer.type) {
      case 'entitled':
        return refreshStored(id, request)
      case 'not-entitled':
        return { type: 'unchanged' }
      case 'unknown':
        return { type: 'failed', detail: answer.detail }
    }
  }

  /** Deletes cooldowns that ended long ago, at most once a minute. */
  function sweep(rows: readonly { until: number }[], at: number): void {
    const before = at - SWEEP_AFTER_MS
    if (at < sweepAt || !rows.some(({ until }) => until < before)) return
    sweepAt = at + SWEEP_EVERY_MS
    cooldowns.sweep(organizationId, before).catch((error) => report(error, 'deleting expired cooldowns'))
  }

  return {
    choose: (provider, request) => choose(provider, request),
    refresh,
    flush: uses.flush,
    box,
    environment: () =>
      readEnvironmentKeys(environment).map(({ id, provider, variable, secret }) => ({
        id,
        provider,
        variable,
        hint: maskedSecret(secret),
      })),
    startDeviceFlow: (provider, { label, signal }) =>
      startDeviceFlow(
        provider,
        {
          flows,
          clock,
          storeTokens: (flow, tokens) =>
            storeTokens(
              { provider, label, flow, tokens },
              { organizationId, store: credentials, box, clock, randomness },
            ),
        },
        signal,
      ),
  }
}

const isUsable = ({ id, dead, cooldown }: Candidate, { setAside, at }: ChooseOptions): boolean =>
  dead === undefined && !setAside.includes(id) && !(cooldown && cooldown.until > at)

function toRefusal(candidates: Candidate[], { setAside, at }: ChooseOptions): CredentialChoice {
  if (candidates.length === 0) return { type: 'none' }
  const cooling = candidates.flatMap(({ id, dead, cooldown }) =>
    dead === undefined && cooldown && cooldown.until > at && !setAside.includes(id) ? [cooldown] : [],
  )
  if (cooling.length > 0) {
    const { until, reason, detail } = cooling.reduce((first, one) => (one.until < first.until ? one : first))
    return { type: 'cooling', until, reason, detail }
  }
  const dead = candidates.flatMap((member) => member.dead ?? [])
  const tried = candidates.length - dead.length
  const parts = [...dead, ...(tried > 0 ? [`${tried} already tried in this step`] : [])]
  return { type: 'spent', detail: `no credential is left (${parts.join('; ')})` }
}
