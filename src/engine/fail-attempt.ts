import { type AttemptState, spentWithCredential } from '../core/attempt-state.ts'
import { fixedAdvice, isLeastRequest, smallerWindow } from '../core/context-window.ts'
import { cooldownFor } from '../core/cooldown.ts'
import { defined } from '../core/defined.ts'
import type { Purpose, TurnEvent, Usage } from '../core/event.ts'
import { type Failure, SAYS_TOO_LONG } from '../core/failure.ts'
import type { RunId } from '../core/id.ts'
import { nextTargetAfter, type TargetIdentity } from '../core/next-target.ts'
import { type Recovery, type RecoveryContext, type Remedy, recover, WAIT_BUDGET_MS } from '../core/recovery.ts'
import { parseTarget } from '../core/target.ts'
import type { Turn } from '../core/turn.ts'
import type { Clock } from '../ports/clock.ts'
import type { Models } from '../ports/model.ts'
import type { Randomness } from '../ports/randomness.ts'
import { appliedNotes, lower, type ResolvedTarget } from './attempt.ts'
import { type SentSize, windowIn } from './overflow.ts'

type FailedAttempt = {
  failure: Failure
  purpose: Purpose
  state: AttemptState
  /** The chain of this purpose. */
  targets: readonly string[]
  /** Absent: it failed before a provider was found. */
  resolved?: ResolvedTarget
  canCompact: boolean
  /** Absent: no request was sent. */
  size?: SentSize
  usage?: Usage
  settingsLeftOut?: string[]
}

type FailAttemptDeps = { runId: RunId; models: Models; clock: Clock; randomness: Randomness }

export type AttemptFailed = Extract<TurnEvent, { type: 'attempt-failed' }>

/** The event for a failed attempt, with the remedy the ladder chooses. */
export function failAttempt(attempt: FailedAttempt, turn: Turn, deps: FailAttemptDeps): AttemptFailed {
  const { failure, purpose, state, resolved, usage, settingsLeftOut } = attempt
  const now = deps.clock.now()
  const grant = resolved?.choice.type === 'granted' ? resolved.choice : undefined
  const spent = spentWithCredential(state, grant?.grant.credentialId)
  const recovery = recover(failure, spent, recoveryContext(attempt, turn, deps))
  const waitMs = 'delayMs' in recovery ? recovery.delayMs : 0
  const cooldown =
    grant && cooldownAfter(recovery.remedy, { ...attempt, resolved: resolved! }, { runId: deps.runId, at: now })
  const reported = recovery.remedy === 'give-up' ? withAdvice(withFixed(attempt, turn), attempt, deps.models) : failure
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
    ...defined({
      usage: usage && usage.promptTokens + usage.completionTokens > 0 ? usage : undefined,
      cooldown,
      notesApplied: resolved && appliedNotes(resolved),
      settingsLeftOut,
    }),
  }
}

/** Names the system prompt and the tools if nothing else could be left out any more. */
function withFixed({ failure, size, resolved }: FailedAttempt, turn: Turn): Failure {
  const window = windowAt(resolved, turn)
  if (!size || !SAYS_TOO_LONG.has(failure.kind) || !isLeastRequest({ ...size, ...defined({ window }) })) return failure
  return { ...failure, fixedTokens: size.fixed, advice: fixedAdvice(size.fixed) }
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
  return 'window' in recovery ? defined({ window: recovery.window }) : {}
}

const windowAt = (resolved: ResolvedTarget | undefined, turn: Turn): number | undefined =>
  resolved && windowIn(turn, resolved.handle, resolved.facts.window)

/** The window to assume after a refusal, measured by the request that was refused. */
function nextWindow({ failure, resolved, size }: FailedAttempt, turn: Turn): number | undefined {
  if (!size || !resolved || !SAYS_TOO_LONG.has(failure.kind)) return undefined
  const window = windowAt(resolved, turn)
  const isLowered = turn.windows[resolved.handle] !== undefined
  return smallerWindow({ ...size, isLowered, ...defined({ window, stated: failure.statedWindow }) })
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
    canLeaveOut: purpose === 'summary',
    waitBudgetLeftMs: (turn.settings.patienceMs ?? WAIT_BUDGET_MS) - state.waitedMs,
    applied: resolved ? (appliedNotes(resolved) ?? []) : [],
    isBackground: turn.settings.patienceMs !== undefined,
    jitter: randomness.fraction(),
    ...defined({
      smallerWindow: nextWindow(attempt, turn),
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
