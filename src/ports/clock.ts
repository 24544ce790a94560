/** All reading of time and all waiting goes through this port; the simulator uses a virtual clock. */
export type Clock = {
  /** Milliseconds since 1970; may jump. For display and for stored timestamps. */
  now(): number
  /** Monotonic milliseconds. For durations and leases. */
  monotonic(): number
  /** Resolves after `ms`, or at once when the signal aborts. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** Runs `task` every `ms` until the returned function is called. Does not keep the process alive. */
  every(ms: number, task: () => void): () => void
  /** Runs `task` after the events that are already queued. */
  soon(task: () => void): void
}
