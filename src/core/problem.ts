export type ProblemKind =
  | 'not-found'
  /** A value breaks the rules of its field. */
  | 'invalid'
  /** Each value is well formed, and yet they cannot be used here and now. */
  | 'invalid-argument'
  | 'busy'
  | 'pending-approval'
  | 'queue-full'
  | 'conflict'
  | 'gone'
  | 'immutable'
  | 'unsupported-type'
  /** The caller left before there was an answer. */
  | 'caller-left'
  /** A run that a caller waited for failed; `details` say why. */
  | 'run-failed'
  | 'peer-timeout'
  | 'peer-failed'
  | 'not-served'
  | 'home-owned'
  | 'unavailable'

/** A caller's mistake or a state the caller must know about: what was wrong, where, and what to do. */
export class Problem extends Error {
  readonly kind: ProblemKind
  readonly details: Record<string, string | string[]>
  constructor(kind: ProblemKind, message: string, details: Record<string, string | string[]> = {}) {
    super(message)
    this.name = 'Problem'
    this.kind = kind
    this.details = details
  }
}
