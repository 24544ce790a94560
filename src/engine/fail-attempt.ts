import { type AttemptState, spentWithCredential } from '../core/attempt-state.ts'
import { cooldownFor } from '../core/cooldown.ts'
import { defined } from '../core/defined.ts'
import type { Purpose, TurnEvent, Usage } from '../core/event.ts'
import type { Failure } from '../core/failure.ts'
import type { RunId } from '../core/id.ts'
import { nextTargetAfter, type TargetIdentity } from '../core/next-target.ts'
import { type Recovery, type RecoveryContext, type Remedy, recover, WAIT_BUDGET_MS } from '../core/recovery.ts'
import { parseTarget } from '../core/target.ts'
import type { Turn } from '../core/turn.ts'
import type { Clock } from '../ports/clock.ts'
import type { Models } from '../ports/model.ts'
import type { Randomness } from '../ports/randomness.ts'
import { lower, type ResolvedTarget } from './attempt.ts'

type FailedAttempt = {
  failure: Failure
  purpose: Purpose
  state: AttemptState
  /** The chain of this purpose. */
  targets: readonly string[]
  /** Absent: it failed before a provider was found. */
  resolved?: ResolvedTarget
  canCompact: boolean
  usage?: Usage
}

type FailAttemptDeps = { runId: RunId; models: Models; clock: Clock; randomness: Randomness }

export type AttemptFailed = Extract<TurnEvent, { type: 'attempt-failed' }>

/** The event for a failed attempt, with the remedy the ladder chooses. */
export function failAttempt(attempt: FailedAttempt, turn: Turn, deps: FailAttemptDeps): AttemptFailed {
  const { failure, purpose, state, resolved, usage } = attempt
  const now = deps.clock.now()
  const grant = resolved?.choice.type === 'granted' ? resolved.choice : undefined
  const spent = spentWithCredential(state, grant?.grant.credentialId)
  const recovery = recover(failure, spent, recoveryContext(attempt, turn, deps))
  const waitMs = 'delayMs' in recovery ? recovery.delayMs : 0
  const cooldown =
    grant && cooldownAfter(recovery.remedy, { ...attempt, resolved: resolved! }, { runId: deps.runId, at: now })
  const reported = recovery.remedy === 'give-up' ? withAdvice(failure, attempt, deps.models) : failure
  return {
    type: 'attempt-failed',
    v: 1,
    target: state.target,
    failure: reported,
    remedy: recovery.remedy,
    retryAt: now + waitMs,
    ...defined({
      purpose: purpose === 'answer' ? undefined : purpose,
      credentialId: grant ? grant.grant.credentialId : undefined,
      waitMs: waitMs > 0 ? waitMs : undefined,
    }),
    ...remedyDetails(recovery),
    ...defined({ usage: usage && usage.promptTokens + usage.completionTokens > 0 ? usage : undefined, cooldown }),
  }
}

function withAdvice(failure: Failure, { targets, state }: FailedAttempt, models: Models): Failure {
  if (failure.advice) return failure
  const target = parseTarget(targets[state.target] ?? '')
  const advice = target && models.find(target.provider)?.adviceFor?.(failure.kind)
  return advice ? { ...failure, advice } : failure
}

function remedyDetails(recovery: Recovery): Partial<AttemptFailed> {
  if ('nextTarget' in recovery) return { nextTarget: recovery.nextTarget }
  if ('outputCap' in recovery) return { outputCap: recovery.outputCap }
  return 'window' in recovery ? { window: recovery.window } : {}
}

function recoveryContext(attempt: FailedAttempt, turn: Turn, { models, randomness }: FailAttemptDeps): RecoveryContext {
  const { failure, purpose, state, targets, resolved, canCompact } = attempt
  const limit = purpose === 'answer' ? turn.settings.modelSettings?.maxOutputTokens : undefined
  const nextTarget = nextTargetAfter(
    state.target,
    failure.kind,
    targets.map((handle) => identityOf(handle, models)),
  )
  const { endpoint } = resolved?.provider ?? {}
  const granted = resolved?.choice.type === 'granted' ? resolved.choice : undefined
  return {
    ...defined({ nextTarget }),
    siblings: granted?.siblings ?? 0,
    canRefresh: granted?.canRefresh ?? false,
    canRefreshEntitlement: granted?.canRefreshEntitlement ?? false,
    canRebuild: state.target === 0 && endpoint !== undefined && !endpoint.isAggregator,
    canCompact,
    waitBudgetLeftMs: (turn.settings.patienceMs ?? WAIT_BUDGET_MS) - state.waitedMs,
    jitter: randomness.fraction(),
    ...defined({
      outputCap: lower(state.outputCap, limit),
      maxOutput: lower(resolved?.facts.maxOutput, limit),
    }),
  }
}

/** What this target shares with others; empty for a provider without an endpoint. */
function identityOf(handle: string, models: Models): TargetIdentity {
  const target = parseTarget(handle)
  const endpoint = target && models.find(target.provider)?.endpoint
  if (!target || !endpoint) return {}
  const { baseUrl } = endpoint
  return { account: target.provider, endpoint: baseUrl, deployment: `${baseUrl} ${target.model}` }
}

/** These remedies use the same credential again, so it gets no cooldown. */
const SAME_CREDENTIAL: ReadonlySet<Remedy | 'give-up'> = new Set([
  'wait',
  'retry-credential',
  'refresh-credential',
  'refresh-entitlement',
])

function cooldownAfter(
  remedy: Remedy | 'give-up',
  { failure, resolved }: FailedAttempt & { resolved: ResolvedTarget },
  { runId, at }: { runId: RunId; at: number },
) {
  if (SAME_CREDENTIAL.has(remedy) || resolved.choice.type !== 'granted') return undefined
  const { grant, siblings } = resolved.choice
  const { provider } = resolved.target
  return cooldownFor({ failure, grantId: grant.credentialId, provider, siblings, at, runId })
}
