import { type CredentialId, maskedSecret, type PoolStrategy } from '../../core/credential.ts'
import type { OrganizationId } from '../../core/id.ts'
import type { Clock } from '../../ports/clock.ts'
import type { CredentialCare } from '../../ports/credential-care.ts'
import type { Choice, ChooseOptions, Credentials, Refreshed, RefreshOptions } from '../../ports/credentials.ts'
import type { Randomness } from '../../ports/randomness.ts'
import type { SecretBox } from '../../ports/secret-box.ts'
import type { Store } from '../../ports/store.ts'
import { type Candidate, candidatesOf } from './candidates.ts'
import { startDeviceFlow } from './device-flow.ts'
import { askEntitlement } from './entitlement.ts'
import { type EnvironmentSource, environmentKeys, isEnvironmentKey } from './environment-keys.ts'
import { keepTokens } from './keep-tokens.ts'
import { type FlowOverrides, flowFor } from './oauth-flows.ts'
import { pickBy } from './pool-strategy.ts'
import { refreshOnce } from './refresh-once.ts'
import { useCounter } from './use-counter.ts'

export type PoolOptions = {
  organizationId: OrganizationId
  store: Pick<Store, 'credentials' | 'cooldowns'>
  box: SecretBox
  environment: readonly EnvironmentSource[]
  /** By provider; `fill_first` where nothing is said. */
  strategies?: Readonly<Record<string, PoolStrategy>>
  flows?: FlowOverrides
  clock: Clock
  randomness: Randomness
  report(fault: unknown, where: string): void
  refreshLeaseMs?: number
}

export type CredentialPool = Credentials &
  CredentialCare & {
    /** Writes the uses that are not counted yet. */
    flush(): Promise<void>
  }

/** A token that ends while its request is on the way is as good as one that has run out. */
const EXPIRY_MARGIN_MS = 30_000
/** A bit longer than the token endpoint is waited for. */
const RENEW_FIRST_MS = 16_000
/** After a token could not be renewed it is used as it is for so long: the provider may still take it. */
const RENEW_AGAIN_MS = 60_000
const SWEEP_EVERY_MS = 60_000
const SWEEP_AFTER_MS = 60 * 60_000

export function newCredentialPool(options: PoolOptions): CredentialPool {
  const { organizationId, store, box, environment, strategies = {}, flows = {}, clock, randomness, report } = options
  const { credentials, cooldowns } = store
  const uses = useCounter({
    countUses: (counted) => credentials.countUses(counted),
    isStored: (id) => !isEnvironmentKey(id),
    ...{ clock, report },
  })
  const refreshStored = refreshOnce({
    ...{ organizationId, store: credentials, box, flows, clock, randomness, report },
    ...(options.refreshLeaseMs === undefined ? {} : { leaseMs: options.refreshLeaseMs }),
  })
  const lastPlace = new Map<string, number>()
  const renewAgainAt = new Map<CredentialId, number>()
  let sweepAt = 0

  async function membersOf(provider: string, at: number): Promise<Candidate[]> {
    const pool = await credentials.pool(organizationId, provider)
    sweep(pool.cooldowns, at)
    const keys = environmentKeys(environment.filter((source) => source.provider === provider))
    const contents = { stored: pool.credentials, environment: keys, cooldowns: pool.cooldowns }
    return candidatesOf(contents, { box, flows, uncommittedUses: uses.uncommitted })
  }

  /** `renewed`: this one has just been renewed, and is taken as it is. */
  async function choose(provider: string, asked: ChooseOptions, renewed?: CredentialId): Promise<Choice> {
    const members = await membersOf(provider, asked.at)
    const usable = members.filter((member) => canServe(member, asked))
    const chosen = usable.find(({ id }) => id === asked.preferred) ?? pick(provider, usable)
    if (!chosen) return refusal(members, asked)
    if (chosen.id !== renewed && (await renewFirst(chosen, asked)))
      return choose(provider, { ...asked, preferred: chosen.id }, chosen.id)
    lastPlace.set(provider, chosen.place)
    uses.count(chosen.id, asked.at)
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
    const state = { after: lastPlace.get(provider) ?? -1, fraction: randomness.fraction() }
    return pickBy(strategies[provider] ?? 'fill_first', usable, state)
  }

  /** A token that has run out would only cost a failed attempt. True: its row changed, look again. */
  async function renewFirst({ id, grant, expiresAt, canRefresh }: Candidate, asked: ChooseOptions): Promise<boolean> {
    if (!canRefresh || expiresAt === undefined || expiresAt - asked.at > EXPIRY_MARGIN_MS) return false
    if (clock.monotonic() < (renewAgainAt.get(id) ?? 0)) return false
    const deadline = AbortSignal.timeout(RENEW_FIRST_MS)
    const signal = asked.signal ? AbortSignal.any([asked.signal, deadline]) : deadline
    const refreshed = await refreshStored(id, { failedSecret: grant.secret, signal })
    const hasChanged = refreshed.type === 'refreshed' || refreshed.type === 'dead'
    // Only now: whoever asks while it is under way waits for the same renewal. One that was told to stop has learnt nothing.
    if (!hasChanged && !asked.signal?.aborted) renewAgainAt.set(id, clock.monotonic() + RENEW_AGAIN_MS)
    return hasChanged
  }

  async function refresh(id: CredentialId, asked: RefreshOptions): Promise<Refreshed> {
    if (isEnvironmentKey(id)) return reread(id, asked)
    if (!asked.entitlement) return refreshStored(id, asked)
    return refreshEntitlement(id, asked)
  }

  function reread(id: CredentialId, { failedSecret }: RefreshOptions): Refreshed {
    const key = environmentKeys(environment).find((one) => one.id === id)
    const isNew = key !== undefined && failedSecret !== '' && key.secret !== failedSecret
    return { type: isNew ? 'refreshed' : 'unchanged' }
  }

  /** A bill that was paid meanwhile shows at the account first, and in the token only once that is renewed. */
  async function refreshEntitlement(id: CredentialId, asked: RefreshOptions): Promise<Refreshed> {
    const row = await credentials.get(organizationId, id)
    const flow = row?.oauth && flowFor(row.oauth, flows)
    const secret = row && box.open(row.sealed.secret, id)
    if (!flow || secret === undefined) return { type: 'unchanged' }
    const answer = await askEntitlement(flow, secret, asked.signal)
    switch (answer.type) {
      case 'entitled':
        return refreshStored(id, asked)
      case 'not-entitled':
        return { type: 'unchanged' }
      case 'unknown':
        return { type: 'failed', detail: answer.detail }
    }
  }

  /** Rows that ended long ago count for nothing; now and then somebody takes them away. */
  function sweep(rows: readonly { until: number }[], at: number): void {
    const before = at - SWEEP_AFTER_MS
    if (at < sweepAt || !rows.some(({ until }) => until < before)) return
    sweepAt = at + SWEEP_EVERY_MS
    cooldowns.sweep(organizationId, before).catch((error) => report(error, 'sweeping old cooldowns'))
  }

  return {
    choose: (provider, asked) => choose(provider, asked),
    refresh,
    flush: uses.flush,
    box,
    environment: () =>
      environmentKeys(environment).map(({ id, provider, variable, secret }) => ({
        ...{ id, provider, variable, hint: maskedSecret(secret) },
      })),
    startDeviceFlow: (provider, { label, signal }) =>
      startDeviceFlow(
        provider,
        {
          ...{ flows, clock },
          keep: (flow, tokens) =>
            keepTokens(
              { provider, label, flow, tokens },
              { organizationId, store: credentials, box, clock, randomness },
            ),
        },
        signal,
      ),
  }
}

const canServe = ({ id, dead, cooldown }: Candidate, { setAside, at }: ChooseOptions): boolean =>
  dead === undefined && !setAside.includes(id) && !(cooldown && cooldown.until > at)

function refusal(members: Candidate[], { setAside, at }: ChooseOptions): Choice {
  if (members.length === 0) return { type: 'none' }
  const resting = members.flatMap(({ id, dead, cooldown }) =>
    dead === undefined && cooldown && cooldown.until > at && !setAside.includes(id) ? [cooldown] : [],
  )
  if (resting.length > 0) {
    const { until, reason, detail } = resting.reduce((first, one) => (one.until < first.until ? one : first))
    return { type: 'cooling', until, reason, detail }
  }
  const dead = members.flatMap((member) => member.dead ?? [])
  const tried = members.length - dead.length
  const parts = [...dead, ...(tried > 0 ? [`${tried} already tried in this step`] : [])]
  return { type: 'spent', detail: `no credential is left (${parts.join('; ')})` }
}
