import type { FailureKind } from './failure.ts'

/** What a target is made of, as far as it can fail together with another. Absent: shared with nobody. */
export type TargetIdentity = {
  /** The account whose keys are used. */
  account?: string
  /** The address that is asked. */
  endpoint?: string
  /** One model at one address. */
  deployment?: string
}

type Axis = keyof TargetIdentity

/** A candidate that shares this with the one that failed would fail in the same way. */
const SHARED_FAILURE_AXIS: Record<FailureKind, Axis> = {
  unreachable: 'endpoint',
  'certificate-rejected': 'endpoint',
  timeout: 'deployment',
  stalled: 'deployment',
  'cut-off': 'deployment',
  overloaded: 'deployment',
  'server-error': 'deployment',
  'rate-limited': 'deployment',
  'upstream-rate-limited': 'deployment',
  'cooling-down': 'account',
  'quota-exhausted': 'account',
  'auth-rejected': 'account',
  'policy-blocked': 'account',
  'model-unknown': 'deployment',
  'context-overflow': 'deployment',
  'long-context-refused': 'deployment',
  'long-context-beta-refused': 'deployment',
  'output-cap-too-large': 'deployment',
  'payload-too-large': 'endpoint',
  'image-too-large': 'deployment',
  'image-rejected': 'deployment',
  'tool-images-unsupported': 'deployment',
  'signature-rejected': 'deployment',
  'encrypted-reasoning-rejected': 'deployment',
  'grammar-rejected': 'deployment',
  'invalid-request': 'deployment',
  'content-refused': 'deployment',
  'empty-answer': 'deployment',
  'thinking-only': 'deployment',
  'thinking-exhausted': 'deployment',
  'text-truncated': 'deployment',
  'call-truncated': 'deployment',
  'malformed-answer': 'deployment',
}

/** The next target in the chain that can do better than the one that failed in this way. */
export function nextTargetAfter(
  failed: number,
  kind: FailureKind,
  chain: readonly TargetIdentity[],
): number | undefined {
  const axis = SHARED_FAILURE_AXIS[kind]
  const shared = chain[failed]?.[axis]
  const next = chain.findIndex((one, index) => index > failed && (shared === undefined || one[axis] !== shared))
  return next < 0 ? undefined : next
}
