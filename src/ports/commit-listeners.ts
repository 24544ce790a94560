import type { TurnEvent } from '../core/event.ts'
import type { RunId } from '../core/id.ts'

export type CommitListener = {
  /** Called when a turn of this process has committed this event. */
  event?(event: TurnEvent, runId: RunId): void
  /** Called with the duration of each commit, in whole milliseconds. */
  committed?(tookMs: number): void
}

/** Subscriptions to the commits of this process, for metrics and workspaces. */
export type CommitListeners = {
  /** Returns the function that ends the subscription. */
  listen(listener: CommitListener): () => void
  /** Runs taken over since the process started. A count, because most takeovers precede the first listener. */
  takeovers(): Readonly<Record<'worker-lost' | 'handed-back', number>>
}
