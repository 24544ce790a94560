import type { TurnEvent } from '../core/event.ts'
import type { RunId } from '../core/id.ts'
import type { Clock } from '../ports/clock.ts'
import type { Claim, Store } from '../ports/store.ts'

export type Listener = {
  /** What a turn committed. */
  event?(event: TurnEvent, runId: RunId): void
  /** How long a commit took, in whole milliseconds. */
  committed?(tookMs: number): void
}

/** Lets others in this process hear what its turns commit. */
export type Hearing = {
  listen(listener: Listener): () => void
  /** Runs that were taken over from another process. Most are before anybody listens: when this one starts. */
  takeovers(): Readonly<Record<'worker-lost' | 'handed-back', number>>
}

/** The store, telling each event once it is durable. */
export function tellEvents(store: Store, clock: Pick<Clock, 'now'>): { store: Store; hearing: Hearing } {
  const listeners = new Set<Listener>()
  const takeovers = { 'worker-lost': 0, 'handed-back': 0 }
  const { events, runs } = store
  const telling: Store['events'] = {
    ...events,
    async append(append) {
      const began = clock.now()
      const result = await events.append(append)
      if (result.type !== 'appended' || listeners.size === 0) return result
      const tookMs = clock.now() - began
      const told = result.intentsKept ? [...append.facts, ...append.intents] : append.facts
      for (const listener of listeners) {
        listener.committed?.(tookMs)
        for (const { event } of told) listener.event?.(event, append.runId)
      }
      return result
    },
  }
  const tellingRuns: Store['runs'] = {
    ...runs,
    async takeOver(workerId, options) {
      const claim = await runs.takeOver(workerId, options)
      if (claim) takeovers[whyLeft(claim)] += 1
      return claim
    },
  }
  return {
    store: { ...store, events: telling, runs: tellingRuns },
    hearing: {
      listen(listener) {
        listeners.add(listener)
        return () => listeners.delete(listener)
      },
      takeovers: () => takeovers,
    },
  }
}

/** A worker that died is in the log; one that left cleanly gave its lease back without a word. */
const whyLeft = ({ events }: Claim) => (events.at(-1)?.event.type === 'worker-lost' ? 'worker-lost' : 'handed-back')
