import type { Failure, FailureKind } from './failure.ts'

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
  | 'adopt-window'
  | 'compact'
  /** Close the provider's connections, pause, and open new ones. */
  | 'rebuild-transport'
  | 'next-target'

/**
 * The whole retry and failover policy, read left to right: the first rung that is unused and possible is taken. A
 * remedy listed n times may be used n times, each at its own position.
 */
export const LADDER: Record<FailureKind, readonly Remedy[]> = {
  unreachable: ['wait', 'rebuild-transport', 'next-target', 'wait', 'wait'],
  timeout: ['wait', 'rebuild-transport', 'next-target', 'wait'],
  stalled: ['wait', 'rebuild-transport', 'next-target', 'wait'],
  'cut-off': ['wait', 'rebuild-transport', 'next-target', 'wait', 'wait'],
  'certificate-rejected': ['next-target'],
  overloaded: ['wait', 'next-target', 'wait', 'wait', 'wait'],
  'server-error': ['wait', 'next-target', 'wait', 'wait'],
  'rate-limited': ['retry-credential', 'next-credential', 'next-target', 'wait', 'wait', 'wait'],
  'upstream-rate-limited': ['next-target', 'wait', 'wait', 'wait'],
  'cooling-down': ['next-target', 'wait'],
  // An account without credit is never tried twice with the same key.
  'quota-exhausted': ['refresh-entitlement', 'next-credential', 'next-target'],
  'auth-rejected': ['refresh-credential', 'next-credential', 'next-target'],
  'policy-blocked': ['next-target'],
  'model-unknown': ['next-target'],
  'context-overflow': ['adopt-window', 'compact', 'next-target'],
  'long-context-refused': ['adopt-window', 'compact', 'next-target'],
  'long-context-beta-refused': ['drop-long-context-beta', 'next-target'],
  'output-cap-too-large': ['cap-output', 'next-target'],
  'payload-too-large': ['shrink-images', 'compact', 'strip-images', 'next-target'],
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
  /** Time that the waits of this step may still take in total. */
  waitBudgetLeftMs: number
  /** In [0, 1): spreads the retries of clients that were rejected at the same time. */
  jitter: number
  /** The output limit of the failed request, and the model's maximum. */
  outputCap?: number
  maxOutput?: number
}

export type Recovery =
  | { remedy: 'wait' | 'rebuild-transport'; delayMs: number }
  | { remedy: 'next-target'; nextTarget: number }
  | { remedy: 'cap-output' | 'raise-output-cap' | 'continue'; outputCap: number }
  | { remedy: 'adopt-window'; window: number }
  | {
      remedy: Exclude<
        Remedy,
        'wait' | 'rebuild-transport' | 'next-target' | 'cap-output' | 'raise-output-cap' | 'continue' | 'adopt-window'
      >
    }
  | { remedy: 'give-up' }

export function recover(failure: Failure, spent: readonly Remedy[], context: RecoveryContext): Recovery {
  const ladder = LADDER[failure.kind]
  for (const [index, rung] of ladder.entries()) {
    // The second `wait` of a ladder counts only after the first is used; it does not skip the rungs between them.
    if (count(spent, rung) > count(ladder.slice(0, index), rung)) continue
    const recovery = tryRung(rung, failure, { spent, context })
    if (recovery) return recovery
  }
  return { remedy: 'give-up' }
}

type RungContext = { spent: readonly Remedy[]; context: RecoveryContext }

/** The rung with its values, if this failure and context allow it. */
function tryRung(rung: Remedy, failure: Failure, { spent, context }: RungContext): Recovery | undefined {
  switch (rung) {
    case 'wait': {
      const delayMs = delayFor(failure, spent, context.jitter)
      return delayMs <= context.waitBudgetLeftMs ? { remedy: rung, delayMs } : undefined
    }
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
      return failure.statedWindow ? { remedy: rung, window: failure.statedWindow } : undefined
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
      return context.canCompact ? { remedy: rung } : undefined
    case 'strip-signatures':
    case 'drop-encrypted-reasoning':
    case 'shrink-images':
    case 'strip-images':
    case 'text-only-results':
    case 'drop-long-context-beta':
    case 'relax-schemas':
    case 'prompt-again':
      return { remedy: rung }
  }
}

/** Wait budget of one step of a foreground run: its client times out at 60 s. */
export const WAIT_BUDGET_MS = 30_000
/** Wait budget of one step of a background run: no client connection is open. */
export const BACKGROUND_WAIT_BUDGET_MS = 600_000

const FIRST_WAIT_MS = 500
const MAX_WAIT_MS = 60_000
/** Our token count and the provider's differ slightly. */
const OUTPUT_MARGIN = 64
const FIRST_OUTPUT_CAP = 4_096
const MAX_OUTPUT_CAP = 32_768

/** A stated retry-after is used as it is. Otherwise exponential backoff with up to 50 % jitter. */
function delayFor({ retryAfterMs }: Failure, spent: readonly Remedy[], jitter: number): number {
  if (retryAfterMs !== undefined) return retryAfterMs
  const delay = Math.min(FIRST_WAIT_MS * 2 ** count(spent, 'wait'), MAX_WAIT_MS)
  return Math.round(delay * (1 + jitter / 2))
}

function raisedCap({ outputCap = FIRST_OUTPUT_CAP, maxOutput }: RecoveryContext): number {
  const ceiling = Math.max(outputCap, maxOutput ?? MAX_OUTPUT_CAP)
  return Math.min(outputCap * 2, ceiling)
}

const count = (remedies: readonly Remedy[], wanted: Remedy) => remedies.filter((remedy) => remedy === wanted).length
