import type { DatabaseSync } from 'node:sqlite'
import type { CredentialId } from '../../../src/core/credential.ts'
import { defined } from '../../../src/core/defined.ts'
import type { TurnEvent } from '../../../src/core/event.ts'
import type { Grant } from '../../../src/ports/credentials.ts'
import type { Chosen } from './unreliable-store.ts'

type PoolCooldown = { until: number; runId: string; createdAt: number }
type Member = { id: CredentialId; isDead: boolean; canRefresh: boolean; rest?: PoolCooldown }

/** The members of a pool, read from the rows without the queries of the product. */
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
  wrote(process: string, event: TurnEvent): void
  /** Faults of the cooldown of a failed attempt. */
  cooldownFaults(event: AttemptFailed, granted: Granted | undefined): string[]
  /** The cooldown of a credential, if it has one. */
  restOf(id: CredentialId): PoolCooldown | undefined
  /** When the last cooldown ends. */
  lastEnd(): number
}

type PoolCheckDeps = {
  database: DatabaseSync
  environmentIds(provider: string): CredentialId[]
  reach(state: string): void
}

const STATED = 31 * 24 * 3_600_000

/** Cooldown of a credential with siblings, by reason. */
const UNSTATED: Partial<Record<string, number>> = {
  'auth-rejected': 300_000,
  'rate-limited': 3_600_000,
  'quota-exhausted': 3_600_000,
}

const MAY_REST: readonly string[] = [...Object.keys(UNSTATED), 'policy-blocked', 'upstream-rate-limited']

export function newPoolCheck({ database, environmentIds, reach }: PoolCheckDeps): PoolCheck {
  const grants = new WeakMap<Grant, Granted>()
  const writers = new Map<string, string>()
  const stored = database.prepare(
    `select id, dead_reason, sealed_refresh_token is not null as renewable from credentials where provider = ?`,
  )
  const resting = database.prepare(
    `select until, run_id, created_at from cooldowns where scope = 'credential' and key = ?`,
  )
  const last = database.prepare('select max(until) as until from cooldowns')

  const restOf = (id: CredentialId): PoolCooldown | undefined => {
    const found = resting.get(id)
    return found && { until: Number(found.until), runId: String(found.run_id), createdAt: Number(found.created_at) }
  }
  const withRest = (member: Omit<Member, 'rest'>): Member => {
    const rest = restOf(member.id)
    return rest ? { ...member, rest } : member
  }
  const view = (provider: string): PoolView => [
    ...stored
      .all(provider)
      .map(({ id, dead_reason, renewable }) =>
        withRest({ id: String(id) as CredentialId, isDead: dead_reason !== null, canRefresh: renewable === 1 }),
      ),
    ...environmentIds(provider).map((id) => withRest({ id, isDead: false, canRefresh: true })),
  ]

  return {
    view,
    restOf,
    grantedBy: (grant) => grants.get(grant),
    lastEnd: () => Number(last.get()?.until ?? 0),
    wrote(process, event) {
      if (event.type === 'attempt-failed' && event.cooldown) writers.set(event.cooldown.key, process)
    },
    faultsOf(process, { provider, options, before, choice }) {
      const { setAside, at } = options
      const after = view(provider)
      const usable = (members: PoolView) =>
        members.flatMap(({ id, isDead, rest }) =>
          isDead || setAside.includes(id) || (rest && rest.until > at) ? [] : [id],
        )
      const [was, is] = [usable(before), usable(after)]
      const isSure = was.join() === is.join()
      for (const { id, rest, isDead } of after)
        if (
          rest &&
          !isDead &&
          rest.until > at &&
          writers.get(id) !== process &&
          !setAside.includes(id) &&
          !was.includes(id)
        )
          reach('a cooldown obeyed by another process')
      if (choice.type !== 'granted') {
        const passed = was.find((id) => is.includes(id))
        return passed ? [`I16 ${process}: ${passed} is available and the choice is ${choice.type}`] : []
      }
      const { credentialId } = choice.grant
      const member = after.find(({ id }) => id === credentialId)
      grants.set(choice.grant, {
        credentialId,
        canRefresh: member?.canRefresh ?? choice.canRefresh,
        ...defined({ siblings: isSure ? was.length - 1 : undefined }),
      })
      return [
        ...(was.includes(credentialId) || is.includes(credentialId)
          ? []
          : [`I16 ${process}: ${credentialId} is used although it is dead, in cooldown or failed in this step`]),
        ...(isSure && choice.siblings !== was.length - 1
          ? [`I16 ${process}: ${choice.siblings} siblings reported for ${credentialId}, there are ${was.length - 1}`]
          : []),
      ]
    },
    cooldownFaults({ cooldown, failure, credentialId, remedy }, granted) {
      if (!cooldown) return []
      const { scope, key, until, createdAt, reason } = cooldown
      const stated = failure.retryAfterMs ? Math.min(Math.ceil(failure.retryAfterMs), STATED) : undefined
      const mayBeUnstated = granted?.siblings === undefined || granted.siblings > 0
      const lasts = stated ?? UNSTATED[reason]
      return [
        ...(reason === failure.kind && MAY_REST.includes(reason)
          ? []
          : [`a cooldown for ${reason} of ${failure.kind}`]),
        ...(scope === 'credential' && key !== credentialId
          ? [`${key} got the cooldown, the request was made with ${credentialId}`]
          : []),
        ...(stated === undefined && !mayBeUnstated
          ? [`${key} has a cooldown without a stated end and no siblings`]
          : []),
        ...(until - createdAt === lasts ? [] : [`the cooldown of ${key} lasts ${until - createdAt} ms, not ${lasts}`]),
        ...(remedy === 'retry-credential' || remedy === 'wait'
          ? [`${key} is in cooldown and is retried by ${remedy}`]
          : []),
      ]
    },
  }
}
