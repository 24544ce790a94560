import type { DatabaseSync } from 'node:sqlite'
import type { CredentialId } from '../../../src/core/credential.ts'
import { defined } from '../../../src/core/defined.ts'
import type { TurnEvent } from '../../../src/core/event.ts'
import type { Grant } from '../../../src/ports/credentials.ts'
import type { Chosen } from './unreliable-store.ts'

type PoolCooldown = { until: number; runId: string; createdAt: number }
type Member = { id: CredentialId; isDead: boolean; canRefresh: boolean; cooldown?: PoolCooldown }

/** The credentials of a provider, read from the rows without the queries of the product. */
export type PoolView = readonly Member[]

/** The state when a credential was granted; `siblings` is absent if it changed during the choice. */
export type Granted = { credentialId: CredentialId; siblings?: number; canRefresh: boolean }

type AttemptFailed = Extract<TurnEvent, { type: 'attempt-failed' }>

export type PoolCheck = {
  view(provider: string): PoolView
  /** Faults of this choice. Rare states are passed to `reach`. */
  faultsOf(process: string, chosen: Chosen): string[]
  grantedBy(grant: Grant): Granted | undefined
  /** Records that this process committed a failure with a cooldown. */
  recordWriter(process: string, event: TurnEvent): void
  /** Faults of the cooldown of a failed attempt. */
  cooldownFaults(event: AttemptFailed, granted: Granted | undefined): string[]
  /** The cooldown of a credential, if it has one. */
  cooldownOf(id: CredentialId): PoolCooldown | undefined
  /** When the last cooldown ends. */
  lastEnd(): number
}

type PoolCheckDeps = {
  database: DatabaseSync
  environmentIds(provider: string): CredentialId[]
  reach(state: string): void
}

/** Limit of a cooldown that the provider states. */
const MAX_STATED_MS = 31 * 24 * 3_600_000

/** Cooldown by reason if the provider states none; only for a credential with siblings. */
const DEFAULT_COOLDOWN_MS: Partial<Record<string, number>> = {
  'auth-rejected': 300_000,
  'rate-limited': 3_600_000,
  'quota-exhausted': 3_600_000,
}

const COOLDOWN_REASONS: readonly string[] = [
  ...Object.keys(DEFAULT_COOLDOWN_MS),
  'policy-blocked',
  'upstream-rate-limited',
]

export function newPoolCheck({ database, environmentIds, reach }: PoolCheckDeps): PoolCheck {
  const grants = new WeakMap<Grant, Granted>()
  const writers = new Map<string, string>()
  const credentialQuery = database.prepare(
    `select id, dead_reason, sealed_refresh_token is not null as renewable from credentials where provider = ?`,
  )
  const cooldownQuery = database.prepare(
    `select until, run_id, created_at from cooldowns where scope = 'credential' and key = ?`,
  )
  const lastEndQuery = database.prepare('select max(until) as until from cooldowns')

  const cooldownOf = (id: CredentialId): PoolCooldown | undefined => {
    const found = cooldownQuery.get(id)
    return found && { until: Number(found.until), runId: String(found.run_id), createdAt: Number(found.created_at) }
  }
  const withCooldown = (member: Omit<Member, 'cooldown'>): Member => {
    const cooldown = cooldownOf(member.id)
    return cooldown ? { ...member, cooldown } : member
  }
  const view = (provider: string): PoolView => [
    ...credentialQuery
      .all(provider)
      .map(({ id, dead_reason, renewable }) =>
        withCooldown({ id: String(id) as CredentialId, isDead: dead_reason !== null, canRefresh: renewable === 1 }),
      ),
    ...environmentIds(provider).map((id) => withCooldown({ id, isDead: false, canRefresh: true })),
  ]

  return {
    view,
    cooldownOf,
    grantedBy: (grant) => grants.get(grant),
    lastEnd: () => Number(lastEndQuery.get()?.until ?? 0),
    recordWriter(process, event) {
      if (event.type === 'attempt-failed' && event.cooldown) writers.set(event.cooldown.key, process)
    },
    faultsOf(process, { provider, options, before, choice }) {
      const { setAside, at } = options
      const after = view(provider)
      const usable = (members: PoolView) =>
        members.flatMap(({ id, isDead, cooldown }) =>
          isDead || setAside.includes(id) || (cooldown && cooldown.until > at) ? [] : [id],
        )
      const [usableBefore, usableAfter] = [usable(before), usable(after)]
      const isUnchanged = usableBefore.join() === usableAfter.join()
      for (const { id, cooldown, isDead } of after)
        if (
          cooldown &&
          !isDead &&
          cooldown.until > at &&
          writers.get(id) !== process &&
          !setAside.includes(id) &&
          !usableBefore.includes(id)
        )
          reach('a cooldown obeyed by another process')
      if (choice.type !== 'granted') {
        const skipped = usableBefore.find((id) => usableAfter.includes(id))
        return skipped ? [`I16 ${process}: ${skipped} is available and the choice is ${choice.type}`] : []
      }
      const { credentialId } = choice.grant
      const member = after.find(({ id }) => id === credentialId)
      grants.set(choice.grant, {
        credentialId,
        canRefresh: member?.canRefresh ?? choice.canRefresh,
        ...defined({ siblings: isUnchanged ? usableBefore.length - 1 : undefined }),
      })
      return [
        ...(usableBefore.includes(credentialId) || usableAfter.includes(credentialId)
          ? []
          : [`I16 ${process}: ${credentialId} is used although it is dead, in cooldown or failed in this step`]),
        ...(isUnchanged && choice.siblings !== usableBefore.length - 1
          ? [
              `I16 ${process}: ${choice.siblings} siblings reported for ${credentialId}, there are ${usableBefore.length - 1}`,
            ]
          : []),
      ]
    },
    cooldownFaults({ cooldown, failure, credentialId, remedy }, granted) {
      if (!cooldown) return []
      const { scope, key, until, createdAt, reason } = cooldown
      const stated = failure.retryAfterMs ? Math.min(Math.ceil(failure.retryAfterMs), MAX_STATED_MS) : undefined
      const mayUseDefault = granted?.siblings === undefined || granted.siblings > 0
      const expectedMs = stated ?? DEFAULT_COOLDOWN_MS[reason]
      return [
        ...(reason === failure.kind && COOLDOWN_REASONS.includes(reason)
          ? []
          : [`a cooldown for ${reason} of ${failure.kind}`]),
        ...(scope === 'credential' && key !== credentialId
          ? [`${key} got the cooldown, the request was made with ${credentialId}`]
          : []),
        ...(stated === undefined && !mayUseDefault
          ? [`${key} has a cooldown without a stated end and no siblings`]
          : []),
        ...(until - createdAt === expectedMs
          ? []
          : [`the cooldown of ${key} lasts ${until - createdAt} ms, not ${expectedMs}`]),
        ...(remedy === 'retry-credential' || remedy === 'wait'
          ? [`${key} is in cooldown and is retried by ${remedy}`]
          : []),
      ]
    },
  }
}
