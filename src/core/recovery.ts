import type { Failure, FailureKind } from './failure.ts'

/** What to do about a failed attempt. Every remedy's effect lives in the fold, so a restart remembers it. */
export type Remedy = 'wait' | 'next-target'

/** What is left to try. Facts only; this file chooses. */
export type Options = { targetsLeft: number }

export type Recovery = { remedy: Remedy; delayMs: number } | { remedy: 'give-up' }

/** The whole policy, read left to right. `wait` is spent by use; `next-target` lasts as long as the chain does. */
export const LADDER: Record<FailureKind, readonly Remedy[]> = {
  timeout: ['wait', 'next-target'],
  stalled: ['wait', 'next-target'],
  'cut-off': ['wait', 'next-target'],
  'certificate-rejected': ['next-target'],
  'server-error': ['wait', 'wait', 'next-target'],
  'upstream-rate-limited': ['next-target'],
  'cooling-down': ['next-target'],
  'policy-blocked': [],
  'long-context-refused': ['next-target'],
  'long-context-beta-refused': ['next-target'],
  'output-cap-too-large': ['next-target'],
  'payload-too-large': ['next-target'],
  'image-too-large': ['next-target'],
  'image-rejected': ['next-target'],
  'tool-images-unsupported': ['next-target'],
  'signature-rejected': ['next-target'],
  'encrypted-reasoning-rejected': ['next-target'],
  'grammar-rejected': ['next-target'],
  'thinking-only': ['wait', 'next-target'],
  'thinking-exhausted': ['next-target'],
  'text-truncated': ['next-target'],
  'call-truncated': ['next-target'],
  'rate-limited': ['wait', 'next-target'],
  overloaded: ['wait', 'wait', 'next-target'],
  unreachable: ['wait', 'wait', 'next-target'],
  'auth-rejected': ['next-target'],
  'quota-exhausted': ['next-target'],
  'context-overflow': ['next-target'],
  'content-refused': ['next-target'],
  'empty-answer': ['wait', 'next-target'],
  'malformed-answer': ['wait', 'next-target'],
  'invalid-request': [],
  'model-unknown': ['next-target'],
}

/** A provider that asks for more than this is treated as lost for the turn. */
export const LONGEST_WAIT_MS = 30_000
const FIRST_WAIT_MS = 500

export function recover(failure: Failure, spent: readonly Remedy[], options: Options): Recovery {
  const ladder = LADDER[failure.kind]
  const remedy = ladder.find((rung) => isLeft(rung, ladder, spent, options) && isBearable(rung, failure))
  if (!remedy) return { remedy: 'give-up' }
  return { remedy, delayMs: remedy === 'wait' ? delayFor(failure, spent) : 0 }
}

function isLeft(rung: Remedy, ladder: readonly Remedy[], spent: readonly Remedy[], options: Options): boolean {
  switch (rung) {
    case 'wait':
      return count(spent, 'wait') < count(ladder, 'wait')
    case 'next-target':
      return options.targetsLeft > 0
  }
}

const isBearable = (rung: Remedy, failure: Failure): boolean =>
  rung !== 'wait' || (failure.retryAfterMs ?? 0) <= LONGEST_WAIT_MS

function delayFor(failure: Failure, spent: readonly Remedy[]): number {
  return failure.retryAfterMs ?? Math.min(FIRST_WAIT_MS * 2 ** count(spent, 'wait'), LONGEST_WAIT_MS)
}

const count = (remedies: readonly Remedy[], wanted: Remedy) => remedies.filter((remedy) => remedy === wanted).length
