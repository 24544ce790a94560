import { defined } from './defined.ts'
import type { Failure, FailureKind } from './failure.ts'
import type { NoteKind } from './target.ts'

/** What to do about a failed attempt. The fold holds every remedy's effect, so it survives a restart. */
export type Remedy =
  | 'wait'
  /** Try the same credential once more before treating it as exhausted. */
  | 'retry-credential'
  | 'refresh-credential'
  /** Check whether the account is still entitled to the model, and if so renew its token. */
  | 'refresh-entitlement'
  | 'next-credential'
  // These adjust the copy of the request that is sent.
  | 'strip-signatures'
  | 'drop-encrypted-reasoning'
  | 'shrink-images'
  | 'strip-images'
  | 'text-only-results'
  | 'drop-long-context-beta'
  | 'relax-schemas'
  | 'cap-output'
  | 'raise-output-cap'
  /** Prompt the model again for an answer; the extra prompt is not added to the history. */
  | 'prompt-again'
  /** Continue the text that the output limit cut off. */
  | 'continue'
  /** Assume a smaller context window: the conversation is shortened to it, or cut in the copy that is sent. */
  | 'adopt-window'
  | 'compact'
  /** No model can write a summary: a mark takes the place of the messages. */
  | 'leave-out'
  /** Close the provider's connections, pause, and open new ones. */
  | 'rebuild-transport'
  | 'next-target'

/** A step of a ladder: a remedy, or waits for as long as the wait budget lasts. */
export type Rung =
  | Remedy
  | 'keep-waiting'
  /** In the foreground the turn gives up instead: its caller is told while it still listens. */
  | 'keep-waiting-in-background'

/** The retries with backoff before a target is left for a failure that may pass. */
const RETRIES = ['wait', 'wait', 'wait'] as const
/** Only the connections of a primary that is no aggregator are rebuilt; see `canRebuild`. */
const TRANSPORT = [...RETRIES, 'rebuild-transport', 'next-target'] as const

/**
 * The whole retry and failover policy, read left to right: the first rung that is unused and possible is taken. A
 * remedy listed n times may be used n times, each at its own position.
 */
export const LADDER: Record<FailureKind, readonly Rung[]> = {
  unreachable: [...TRANSPORT, 'keep-waiting-in-background'],
  // These three may take minutes or have cost tokens each time, so their number is limited in the background, too.
  timeout: [...TRANSPORT, 'wait'],
  stalled: [...TRANSPORT, 'wait'],
  'cut-off': [...TRANSPORT, 'wait', 'wait'],
  'certificate-rejected': ['next-target'],
  overloaded: [...RETRIES, 'next-target', 'wait', 'keep-waiting-in-background'],
  'server-error': [...RETRIES, 'next-target', 'keep-waiting-in-background'],
  'rate-limited': ['retry-credential', 'next-credential', 'next-target', 'keep-waiting'],
  'upstream-rate-limited': ['next-target', 'keep-waiting'],
  'cooling-down': ['next-target', 'keep-waiting'],
  // An account without credit is never tried twice with the same key.
  'quota-exhausted': ['refresh-entitlement', 'next-credential', 'next-target'],
  'auth-rejected': ['refresh-credential', 'next-credential', 'next-target'],
  'policy-blocked': ['next-target'],
  'model-unknown': ['next-target'],
  // Another model may be allowed, or cost less.
  'model-not-allowed': ['next-target'],
  'spending-limit': ['next-target'],
  'context-overflow': ['compact', 'adopt-window', 'next-target', 'leave-out'],
  'long-context-refused': ['compact', 'adopt-window', 'next-target', 'leave-out'],
  'long-context-beta-refused': ['drop-long-context-beta', 'next-target'],
  'output-cap-too-large': ['cap-output', 'next-target'],
  'payload-too-large': ['shrink-images', 'compact', 'strip-images', 'adopt-window', 'next-target', 'leave-out'],
  'image-too-large': ['shrink-images', 'strip-images', 'next-target'],
  'image-rejected': ['strip-images', 'next-target'],
  'tool-images-unsupported': ['text-only-results', 'next-target'],
  'signature-rejected': ['strip-signatures', 'next-target'],
  'encrypted-reasoning-rejected': ['drop-encrypted-reasoning', 'next-target'],
  'grammar-rejected': ['relax-schemas', 'next-target'],
  // The caller's mistake would fail at every other target too.
  'invalid-request': [],
  'content-refused': ['next-target'],
  'empty-answer': ['prompt-again', 'wait', 'wait', 'next-target'],
  'thinking-only': ['prompt-again', 'prompt-again', 'wait', 'next-target'],
  'thinking-exhausted': ['raise-output-cap', 'next-target'],
  'text-truncated': ['continue', 'continue', 'continue'],
  'call-truncated': ['raise-output-cap', 'raise-output-cap', 'raise-output-cap', 'raise-output-cap', 'next-target'],
  'malformed-answer': ['wait', 'next-target', 'wait'],
}

/** The facts that decide which rungs are possible. */
export type RecoveryContext = {
  /** The next target that does not share the failed account, endpoint or deployment. */
  nextTarget?: number
  /** Number of other credentials of this target that are usable now. */
  siblings: number
  canRefresh: boolean
  canRefreshEntitlement?: boolean
  /** True for the primary target when it is not an aggregator: only its connections are rebuilt. */
  canRebuild: boolean
  canCompact: boolean
  /** A smaller window to assume after this refusal, if one is left to try. */
  smallerWindow?: number
  /** For a summary: a mark may stand for the messages instead. */
  canLeaveOut?: boolean
  /** Time that the waits of this step may still take in total. */
  waitBudgetLeftMs: number
  /** Notes that the failed request obeyed. */
  applied?: readonly NoteKind[]
  /** No caller waits for the end of the run. */
  isBackground?: boolean
  /** In [0, 1): spreads the retries of clients that were rejected at the same time. */
  jitter: number
  /** The output limit of the failed request, and the model's maximum. */
  outputCap?: number
  maxOutput?: number
}

type NotedRemedy = 'drop-encrypted-reasoning' | 'text-only-results' | 'drop-long-context-beta' | 'relax-schemas'

/** The remedies that a model is remembered to need. */
const NOTE_OF: Record<NotedRemedy, Exclude<NoteKind, 'window'>> = {
  'drop-encrypted-reasoning': 'dropEncryptedReasoning',
  'text-only-results': 'textOnlyResults',
  'drop-long-context-beta': 'dropLongContextBeta',
  'relax-schemas': 'relaxSchemas',
}

export type Recovery =
  | { remedy: 'wait' | 'rebuild-transport'; delayMs: number }
  | { remedy: 'next-target'; nextTarget: number }
  | { remedy: 'cap-output' | 'raise-output-cap' | 'continue'; outputCap: number }
  | { remedy: 'adopt-window'; window: number }
  | { remedy: 'compact'; window?: number }
  | {
      remedy: Exclude<
        Remedy,
        | 'wait'
        | 'rebuild-transport'
        | 'next-target'
        | 'cap-output'
        | 'raise-output-cap'
        | 'continue'
        | 'adopt-window'
        | 'compact'
      >
    }
  | { remedy: 'give-up' }

export function recover(failure: Failure, spent: readonly Remedy[], context: RecoveryContext): Recovery {
  const ladder = LADDER[failure.kind]
  for (const [index, rung] of ladder.entries()) {
    // The second `wait` of a ladder counts only after the first is used; it does not skip the rungs between them.
    const isUsedUp = count(spent, rung) > count(ladder.slice(0, index), rung)
    if (isUsedUp && !isRepeated(rung) && !BOUNDED_BY_PROGRESS.has(rung)) continue
    const recovery = tryRung(rung, failure, { spent, context })
    if (recovery) return recovery
  }
  return { remedy: 'give-up' }
}

/** How often the ladder of this failure allows a remedy at one target. */
export function usesAllowed(kind: FailureKind, remedy: Remedy): number {
  const ladder = LADDER[kind]
  return remedy === 'wait' && ladder.some(isRepeated) ? Number.POSITIVE_INFINITY : count(ladder, remedy)
}

const isRepeated = (rung: Rung): rung is Exclude<Rung, Remedy> =>
  rung === 'keep-waiting' || rung === 'keep-waiting-in-background'
/** Usable as often as it helps: each time the window must be smaller than before. */
export const BOUNDED_BY_PROGRESS: ReadonlySet<Rung> = new Set(['adopt-window'])

type RungContext = { spent: readonly Remedy[]; context: RecoveryContext }

/** The rung with its values, if this failure and context allow it. */
function tryRung(rung: Rung, failure: Failure, { spent, context }: RungContext): Recovery | undefined {
  switch (rung) {
    case 'wait': {
      const delayMs = delayFor(failure, spent, context.jitter)
      return delayMs <= context.waitBudgetLeftMs ? { remedy: rung, delayMs } : undefined
    }
    case 'keep-waiting':
      return keepWaiting(failure, { spent, context })
    case 'keep-waiting-in-background':
      return context.isBackground ? keepWaiting(failure, { spent, context }) : undefined
    case 'rebuild-transport': {
      const delayMs = Math.min(3 + count(spent, 'wait'), 8) * 1_000
      return context.canRebuild && delayMs <= context.waitBudgetLeftMs ? { remedy: rung, delayMs } : undefined
    }
    case 'next-target':
      return context.nextTarget === undefined ? undefined : { remedy: rung, nextTarget: context.nextTarget }
    case 'retry-credential':
      // With a stated retry time this credential is exhausted until then.
      return context.siblings > 0 && failure.retryAfterMs === undefined ? { remedy: rung } : undefined
    case 'next-credential':
      return context.siblings > 0 ? { remedy: rung } : undefined
    case 'refresh-credential':
      return context.canRefresh ? { remedy: rung } : undefined
    case 'refresh-entitlement':
      return context.canRefreshEntitlement ? { remedy: rung } : undefined
    case 'adopt-window':
      return context.smallerWindow === undefined ? undefined : { remedy: rung, window: context.smallerWindow }
    case 'cap-output':
      return failure.availableOutput && failure.availableOutput > OUTPUT_MARGIN
        ? { remedy: rung, outputCap: failure.availableOutput - OUTPUT_MARGIN }
        : undefined
    case 'raise-output-cap':
    case 'continue': {
      const outputCap = raisedCap(context)
      const isRaised = outputCap > (context.outputCap ?? FIRST_OUTPUT_CAP)
      return rung === 'continue' || isRaised ? { remedy: rung, outputCap } : undefined
    }
    case 'compact':
      if (!context.canCompact) return undefined
      // Images make a request large in bytes, which says nothing about the window.
      if (failure.kind === 'payload-too-large') return { remedy: rung }
      return { remedy: rung, ...defined({ window: context.smallerWindow }) }
    case 'leave-out':
      return context.canLeaveOut ? { remedy: rung } : undefined
    case 'drop-encrypted-reasoning':
    case 'text-only-results':
    case 'drop-long-context-beta':
    case 'relax-schemas':
      // The refused request was already sent this way.
      return context.applied?.includes(NOTE_OF[rung]) ? undefined : { remedy: rung }
    case 'strip-signatures':
    case 'shrink-images':
    case 'strip-images':
    case 'prompt-again':
      return { remedy: rung }
  }
}

/** Wait budget of one step of a foreground run: its client times out at 60 s, and the attempts take time, too. */
export const WAIT_BUDGET_MS = 30_000
/** Wait budget of one step of a background run: no client connection is open. */
export const BACKGROUND_WAIT_BUDGET_MS = 600_000

/** Absent in the foreground; see `RunSettings.patienceMs`. */
export const patienceOf = (isBackground: boolean): number | undefined =>
  isBackground ? BACKGROUND_WAIT_BUDGET_MS : undefined

const FIRST_WAIT_MS = 500
const MAX_WAIT_MS = 60_000
/** Our token count and the provider's differ slightly. */
const OUTPUT_MARGIN = 64
const FIRST_OUTPUT_CAP = 4_096
const MAX_OUTPUT_CAP = 32_768

/** A stated retry-after is used as it is. */
const delayFor = ({ retryAfterMs }: Failure, spent: readonly Remedy[], jitter: number): number =>
  retryAfterMs ?? backoff(spent, jitter)

/** Exponential, with up to 50 % jitter. */
function backoff(spent: readonly Remedy[], jitter: number): number {
  const delay = Math.min(FIRST_WAIT_MS * 2 ** count(spent, 'wait'), MAX_WAIT_MS)
  return Math.round(delay * (1 + jitter / 2))
}

/**
 * The backoff, cut to what is left of the budget. A stated retry-after is a lower bound: a provider that repeats
 * `retry-after: 0` must not be asked without a pause.
 */
function keepWaiting({ retryAfterMs = 0 }: Failure, { spent, context }: RungContext): Recovery | undefined {
  const { waitBudgetLeftMs: leftMs, jitter } = context
  const delayMs = Math.max(retryAfterMs, Math.min(backoff(spent, jitter), leftMs))
  return leftMs >= FIRST_WAIT_MS && delayMs <= leftMs ? { remedy: 'wait', delayMs } : undefined
}

function raisedCap({ outputCap = FIRST_OUTPUT_CAP, maxOutput }: RecoveryContext): number {
  const ceiling = Math.max(outputCap, maxOutput ?? MAX_OUTPUT_CAP)
  return Math.min(outputCap * 2, ceiling)
}

const count = (rungs: readonly Rung[], wanted: Rung) => rungs.filter((rung) => rung === wanted).length
