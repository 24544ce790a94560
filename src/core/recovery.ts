import type { Failure, FailureKind } from './failure.ts'

/** What to do about a failed attempt. Every remedy's effect lives in the fold, so a restart remembers it. */
export type Remedy =
  | 'wait'
  /** The same key once more before it is taken for exhausted. */
  | 'retry-credential'
  | 'refresh-credential'
  /** Ask whether the account may still be served, and renew its token if so. */
  | 'refresh-entitlement'
  | 'next-credential'
  // These shape the copy of the request that is sent.
  | 'strip-signatures'
  | 'drop-encrypted-reasoning'
  | 'shrink-images'
  | 'strip-images'
  | 'text-only-results'
  | 'drop-long-context-beta'
  | 'relax-schemas'
  | 'cap-output'
  | 'raise-output-cap'
  /** Ask again for an answer, in words that are in no history. */
  | 'nudge'
  /** Go on where the output limit cut the text off. */
  | 'continue'
  | 'adopt-window'
  | 'compact'
  /** Old connections closed, new ones made, and a pause between. */
  | 'rebuild-transport'
  | 'next-target'

/**
 * The whole policy, read left to right: the first rung that is left and possible is taken. A remedy named several times is
 * there for so many uses, and the second use only comes where it stands.
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
  // Money is never asked for twice with the same key.
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
  // The caller's own mistake would be the same mistake elsewhere.
  'invalid-request': [],
  'content-refused': ['next-target'],
  'empty-answer': ['nudge', 'wait', 'wait', 'next-target'],
  'thinking-only': ['nudge', 'nudge', 'wait', 'next-target'],
  'thinking-exhausted': ['raise-output-cap', 'next-target'],
  'text-truncated': ['continue', 'continue', 'continue'],
  'call-truncated': ['raise-output-cap', 'raise-output-cap', 'raise-output-cap', 'raise-output-cap', 'next-target'],
  'malformed-answer': ['wait', 'next-target', 'wait'],
}

/** What is left to try. Facts only; this file chooses. */
export type RecoveryContext = {
  /** The next target that does not share what failed. */
  nextTarget?: number
  /** Other credentials of this target that could serve now. */
  siblings: number
  canRefresh: boolean
  canRefreshEntitlement?: boolean
  /** The primary, reached directly: its connections are ours to renew. */
  canRebuild: boolean
  canCompact: boolean
  /** What the waits of this step may still take together. */
  waitBudgetLeftMs: number
  /** In [0, 1): spreads out those who were turned away together. */
  jitter: number
  /** The output limit of the failed request, and the highest the model takes. */
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

export function recover(failure: Failure, spent: readonly Remedy[], at: RecoveryContext): Recovery {
  const ladder = LADDER[failure.kind]
  for (const [index, rung] of ladder.entries()) {
    // The second `wait` of a ladder is for whoever has waited once, not a reason to pass the rungs between.
    if (count(spent, rung) > count(ladder.slice(0, index), rung)) continue
    const recovery = tryRung(rung, failure, { spent, at })
    if (recovery) return recovery
  }
  return { remedy: 'give-up' }
}

type RungContext = { spent: readonly Remedy[]; at: RecoveryContext }

/** The rung with its particulars, if this failure and these circumstances allow it. */
function tryRung(rung: Remedy, failure: Failure, { spent, at }: RungContext): Recovery | undefined {
  switch (rung) {
    case 'wait': {
      const delayMs = delayFor(failure, spent, at.jitter)
      return delayMs <= at.waitBudgetLeftMs ? { remedy: rung, delayMs } : undefined
    }
    case 'rebuild-transport': {
      const delayMs = Math.min(3 + count(spent, 'wait'), 8) * 1_000
      return at.canRebuild && delayMs <= at.waitBudgetLeftMs ? { remedy: rung, delayMs } : undefined
    }
    case 'next-target':
      return at.nextTarget === undefined ? undefined : { remedy: rung, nextTarget: at.nextTarget }
    case 'retry-credential':
      // A stated end means that this very key is exhausted until then.
      return at.siblings > 0 && failure.retryAfterMs === undefined ? { remedy: rung } : undefined
    case 'next-credential':
      return at.siblings > 0 ? { remedy: rung } : undefined
    case 'refresh-credential':
      return at.canRefresh ? { remedy: rung } : undefined
    case 'refresh-entitlement':
      return at.canRefreshEntitlement ? { remedy: rung } : undefined
    case 'adopt-window':
      return failure.statedWindow ? { remedy: rung, window: failure.statedWindow } : undefined
    case 'cap-output':
      return failure.availableOutput && failure.availableOutput > OUTPUT_MARGIN
        ? { remedy: rung, outputCap: failure.availableOutput - OUTPUT_MARGIN }
        : undefined
    case 'raise-output-cap':
    case 'continue': {
      const outputCap = raisedCap(at)
      const isRaised = outputCap > (at.outputCap ?? FIRST_OUTPUT_CAP)
      return rung === 'continue' || isRaised ? { remedy: rung, outputCap } : undefined
    }
    case 'compact':
      return at.canCompact ? { remedy: rung } : undefined
    case 'strip-signatures':
    case 'drop-encrypted-reasoning':
    case 'shrink-images':
    case 'strip-images':
    case 'text-only-results':
    case 'drop-long-context-beta':
    case 'relax-schemas':
    case 'nudge':
      return { remedy: rung }
  }
}

/** What a foreground caller waits in one step: its client gives up at 60 s. */
export const WAIT_BUDGET_MS = 30_000
/** The same where nobody holds a connection open. */
export const BACKGROUND_WAIT_BUDGET_MS = 600_000

const FIRST_WAIT_MS = 500
const MAX_WAIT_MS = 60_000
/** Counts differ a little between us and the provider. */
const OUTPUT_MARGIN = 64
const FIRST_OUTPUT_CAP = 4_096
const MAX_OUTPUT_CAP = 32_768

/** What the provider asked for is honored as it is; our own guess doubles and is spread out by up to a half. */
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
