/** What happens to a call of a bot instead of its plain answer. */
export type CallFault =
  | { type: 'cut-before' }
  /** The platform does what was asked, and its answer is lost. */
  | { type: 'cut-after' }
  /** It answers as if it had worked, and does nothing. */
  | { type: 'nothing' }
  | { type: 'error'; status: number; description: string; retryAfter?: number }
  | { type: 'delay'; ms: number }
