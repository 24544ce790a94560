import type { FailureKind } from './failure.ts'

/** The parts of a target that it may share with others and fail together with. Absent: not shared. */
export type TargetIdentity = {
  /** The account whose keys are used. */
  account?: string
  /** The base URL requests are sent to. */
  endpoint?: string
  /** One model at one endpoint. */
  deployment?: string
}

type Axis = keyof TargetIdentity

/** For each failure kind: a target that shares this part with the failed one would fail in the same way. */
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
  'model-not-allowed': 'deployment',
  'spending-limit': 'deployment',
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

/** Failover: the next target in the chain that does not share the failing part with the failed one. */
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
