import type { DatabaseSync } from 'node:sqlite'
import type { CredentialId } from '../../../src/core/credential.ts'
import { defined } from '../../../src/core/defined.ts'
import type { TurnEvent } from '../../../src/core/event.ts'
import type { Grant } from '../../../src/ports/credentials.ts'
import type { Chosen } from './unreliable-store.ts'

type PoolCooldown = { until: number; runId: string; createdAt: number }
type Member = { id: CredentialId; isDead: boolean; canRefresh: boolean; rest?: PoolCooldown }

/** The members of a pool as the rows have them: read without the product's queries. */
export type PoolView = readonly Member[]

/** What was true when a credential was granted; absent where it changed while the pool was looking. */
export type Granted = { credentialId: CredentialId; siblings?: number; canRefresh: boolean }

type AttemptFailed = Extract<TurnEvent, { type: 'attempt-failed' }>

export type PoolCheck = {
  view(provider: string): PoolView
  /** What is wrong with this choice. `reach` is told of states that are worth having seen. */
  faultsOf(process: string, chosen: Chosen): string[]
  grantedBy(grant: Grant): Granted | undefined
  /** This process committed a failure that made a credential rest. */
  wrote(process: string, event: TurnEvent): void
  /** Whether the cooldown of a failed attempt may be written, and for how long. */
  cooldownFaults(event: AttemptFailed, granted: Granted | undefined): string[]
  /** Rows of a credential that has just been used with success. */
  restOf(id: CredentialId): PoolCooldown | undefined
  /** The end of the last one. */
  lastEnd(): number
}

type PoolCheckDeps = {
  database: DatabaseSync
  environmentIds(provider: string): CredentialId[]
  reach(state: string): void
}

const STATED = 31 * 24 * 3_600_000

/** How long a credential rests that has others beside it, by reason. */
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
        return passed ? [`I16 ${process}: ${passed} can serve and the choice is ${choice.type}`] : []
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
          : [`I16 ${process}: ${credentialId} is used and is dead, rests or failed in this step`]),
        ...(isSure && choice.siblings !== was.length - 1
          ? [`I16 ${process}: ${choice.siblings} siblings of ${credentialId}, there are ${was.length - 1}`]
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
          ? [`${key} rests, the request was made with ${credentialId}`]
          : []),
        ...(stated === undefined && !mayBeUnstated ? [`${key} rests without a stated end and has no siblings`] : []),
        ...(until - createdAt === lasts ? [] : [`${key} rests for ${until - createdAt} ms, not ${lasts}`]),
        ...(remedy === 'retry-credential' || remedy === 'wait' ? [`${key} rests and is tried again by ${remedy}`] : []),
      ]
    },
  }
}
