/** The only way to know or await time. The simulator runs the same code on a virtual one. */
export type Clock = {
  /** Milliseconds since 1970; may jump. For people and for records. */
  now(): number
  /** Milliseconds that never go back. For durations and leases. */
  monotonic(): number
  /** Resolves after `ms`, or at once when the signal aborts. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** Runs `task` every `ms` until the returned function is called. Does not keep the process alive. */
  every(ms: number, task: () => void): () => void
  /** Runs `task` after the events that are already waiting. */
  soon(task: () => void): void
}
