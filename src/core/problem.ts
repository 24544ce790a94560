export type ProblemKind =
  | 'not-found'
  /** A value violates the rules of its field. */
  | 'invalid'
  /** Each value is well formed, but the request cannot be fulfilled with them. */
  | 'invalid-argument'
  /** The key of the caller does not allow it. */
  | 'forbidden'
  | 'busy'
  | 'pending-approval'
  | 'queue-full'
  | 'conflict'
  | 'gone'
  | 'immutable'
  | 'unsupported-type'
  | 'too-large'
  /** The caller disconnected before the response was ready. */
  | 'caller-left'
  /** The run that the caller waited for failed; `details` has the reason. */
  | 'run-failed'
  | 'peer-timeout'
  | 'peer-failed'
  | 'not-served'
  | 'home-owned'
  | 'unavailable'

/** An error that the caller can act on. The message says what is wrong, where, and what to do. */
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
