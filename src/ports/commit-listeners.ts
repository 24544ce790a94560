import type { TurnEvent } from '../core/event.ts'
import type { RunId } from '../core/id.ts'

export type CommitListener = {
  /** A turn of this process committed this event. */
  event?(event: TurnEvent, runId: RunId): void
  /** How long a commit took, in whole milliseconds. */
  committed?(tookMs: number): void
}

/** Subscriptions to the commits of this process. */
export type CommitListeners = {
  /** Answers with the function that ends the subscription. */
  listen(listener: CommitListener): () => void
  /** Runs taken over from other processes, counted from the start: most come before the first listener. */
  takeovers(): Readonly<Record<'worker-lost' | 'handed-back', number>>
}
