import type { Clock } from '../ports/clock.ts'
import type { CommitListener, CommitListeners } from '../ports/commit-listeners.ts'
import type { Claim, Store } from '../ports/store.ts'

/** Wraps the store: listeners receive each event once it is durable. */
export function withCommitListeners(
  store: Store,
  clock: Pick<Clock, 'monotonic'>,
): { store: Store; commits: CommitListeners } {
  const listeners = new Set<CommitListener>()
  const takeovers = { 'worker-lost': 0, 'handed-back': 0 }
  const { events, runs } = store
  const observedEvents: Store['events'] = {
    ...events,
    async append(append) {
      const startedAt = clock.monotonic()
      const result = await events.append(append)
      if (result.type !== 'appended' || listeners.size === 0) return result
      const tookMs = clock.monotonic() - startedAt
      const committed = result.intentsKept ? [...append.facts, ...append.intents] : append.facts
      for (const listener of listeners) {
        listener.committed?.(tookMs)
        for (const { event } of committed) listener.event?.(event, append.runId)
      }
      return result
    },
  }
  const observedRuns: Store['runs'] = {
    ...runs,
    async takeOver(workerId, options) {
      const claim = await runs.takeOver(workerId, options)
      if (claim) takeovers[takeoverReason(claim)] += 1
      return claim
    },
  }
  return {
    store: { ...store, events: observedEvents, runs: observedRuns },
    commits: {
      listen(listener) {
        listeners.add(listener)
        return () => listeners.delete(listener)
      },
      takeovers: () => takeovers,
    },
  }
}

/** A dead worker leaves a `worker-lost` event; a worker that shut down handed its lease back without an event. */
const takeoverReason = ({ events }: Claim) =>
  events.at(-1)?.event.type === 'worker-lost' ? 'worker-lost' : 'handed-back'
