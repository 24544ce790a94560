export type ProblemKind =
  | 'not-found'
  | 'invalid'
  | 'busy'
  | 'pending-approval'
  | 'queue-full'
  | 'conflict'
  | 'gone'
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
