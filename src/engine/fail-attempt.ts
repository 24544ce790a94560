import { cooldownFor } from '../core/cooldown.ts'
import type { Purpose, TurnEvent, Usage } from '../core/event.ts'
import type { Failure } from '../core/failure.ts'
import type { RunId } from '../core/id.ts'
import { PATIENCE_MS, type Recovery, type Remedy, recover } from '../core/recovery.ts'
import { nextTargetAfter, type TargetIdentity } from '../core/shared-fate.ts'
import { parseTarget } from '../core/target.ts'
import type { Turn } from '../core/turn.ts'
import { spentWith, type Way } from '../core/way.ts'
import type { Clock } from '../ports/clock.ts'
import type { Models } from '../ports/model.ts'
import type { Randomness } from '../ports/randomness.ts'
import type { Place } from './attempt.ts'

type FailedAttempt = {
  failure: Failure
  purpose: Purpose
  way: Way
  /** The chain of this purpose. */
  targets: readonly string[]
  /** Absent: it failed before a provider was asked. */
  place?: Place
  canCompact: boolean
  usage?: Usage
}

type Parts = { runId: RunId; models: Models; clock: Clock; randomness: Randomness }

export type AttemptFailed = Extract<TurnEvent, { type: 'attempt-failed' }>

/** The fact that an attempt failed, with the remedy the ladder chose for it. */
export function failAttempt(attempt: FailedAttempt, turn: Turn, parts: Parts): AttemptFailed {
  const { failure, purpose, way, place, usage } = attempt
  const now = parts.clock.now()
  const grant = place?.choice.type === 'granted' ? place.choice : undefined
  const spent = spentWith(way, grant?.grant.credentialId)
  const recovery = recover(failure, spent, circumstances(attempt, turn, parts))
  const waitMs = 'delayMs' in recovery ? recovery.delayMs : 0
  const cooldown = grant && restOf(recovery.remedy, { ...attempt, place: place! }, { runId: parts.runId, at: now })
  const told = recovery.remedy === 'give-up' ? withAdvice(failure, attempt, parts.models) : failure
  return {
    type: 'attempt-failed',
    v: 1,
    target: way.target,
    failure: told,
    remedy: recovery.remedy,
    retryAt: now + waitMs,
    ...(purpose === 'answer' ? {} : { purpose }),
    ...(grant ? { credentialId: grant.grant.credentialId } : {}),
    ...(waitMs > 0 ? { waitMs } : {}),
    ...particulars(recovery),
    ...(usage && usage.promptTokens + usage.completionTokens > 0 ? { usage } : {}),
    ...(cooldown ? { cooldown } : {}),
  }
}

function withAdvice(failure: Failure, { targets, way }: FailedAttempt, models: Models): Failure {
  const target = parseTarget(targets[way.target] ?? '')
  const advice = target && models.find(target.provider)?.adviceFor?.(failure.kind)
  return advice ? { ...failure, advice } : failure
}

function particulars(recovery: Recovery): Partial<AttemptFailed> {
  if ('nextTarget' in recovery) return { nextTarget: recovery.nextTarget }
  if ('outputCap' in recovery) return { outputCap: recovery.outputCap }
  return 'window' in recovery ? { window: recovery.window } : {}
}

function circumstances(attempt: FailedAttempt, turn: Turn, { models, randomness }: Parts) {
  const { failure, way, targets, place, canCompact } = attempt
  const nextTarget = nextTargetAfter(
    way.target,
    failure.kind,
    targets.map((handle) => identityOf(handle, models)),
  )
  const { endpoint } = place?.provider ?? {}
  const granted = place?.choice.type === 'granted' ? place.choice : undefined
  return {
    ...(nextTarget === undefined ? {} : { nextTarget }),
    siblings: granted?.siblings ?? 0,
    canRefresh: granted?.canRefresh ?? false,
    canRefreshEntitlement: granted?.canRefreshEntitlement ?? false,
    canRebuild: way.target === 0 && endpoint !== undefined && !endpoint.isAggregator,
    canCompact,
    patienceLeftMs: (turn.settings.patienceMs ?? PATIENCE_MS) - way.waitedMs,
    jitter: randomness.fraction(),
    ...(way.outputCap === undefined ? {} : { outputCap: way.outputCap }),
    ...(place?.facts.maxOutput === undefined ? {} : { maxOutput: place.facts.maxOutput }),
  }
}

/** What this target may fail together with; nothing for a provider without an endpoint. */
function identityOf(handle: string, models: Models): TargetIdentity {
  const target = parseTarget(handle)
  const endpoint = target && models.find(target.provider)?.endpoint
  if (!target || !endpoint) return {}
  const { baseUrl } = endpoint
  return { account: target.provider, endpoint: baseUrl, deployment: `${baseUrl} ${target.model}` }
}

/** While the same credential is tried again it does not rest. */
const SAME_CREDENTIAL: ReadonlySet<Remedy | 'give-up'> = new Set([
  'wait',
  'retry-credential',
  'refresh-credential',
  'refresh-entitlement',
])

function restOf(
  remedy: Remedy | 'give-up',
  { failure, place }: FailedAttempt & { place: Place },
  { runId, at }: { runId: RunId; at: number },
) {
  if (SAME_CREDENTIAL.has(remedy) || place.choice.type !== 'granted') return undefined
  const { grant, siblings } = place.choice
  const { provider } = place.target
  return cooldownFor({ failure, grantId: grant.credentialId, provider, siblings, at, runId })
}
