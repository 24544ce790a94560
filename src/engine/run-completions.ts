import type { RunId } from '../core/id.ts'

/** Notifies waiters in this process when a run settles or waits for approval. Waiters then read the store. */
export type RunCompletions = {
  notify(runId: RunId): void
  /** Another process may have ended runs: every waiter reads the store again. */
  notifyAll(): void
  /** Resolves at the next notification or abort. Call it before reading the store, or a completion may be missed. */
  next(runId: RunId, signal: AbortSignal): Promise<void>
}

export function newRunCompletions(): RunCompletions {
  const waiting = new Map<RunId, Set<() => void>>()
  const notify = (runId: RunId) => {
    const listeners = waiting.get(runId)
    waiting.delete(runId)
    for (const listener of listeners ?? []) listener()
  }
  return {
    notify,
    notifyAll: () => {
      for (const runId of [...waiting.keys()]) notify(runId)
    },
    next: (runId, signal) =>
      new Promise((resolve) => {
        const listeners = waiting.get(runId) ?? new Set()
        waiting.set(runId, listeners)
        const finish = () => {
          listeners.delete(finish)
          if (listeners.size === 0 && waiting.get(runId) === listeners) waiting.delete(runId)
          signal.removeEventListener('abort', finish)
          resolve()
        }
        listeners.add(finish)
        signal.addEventListener('abort', finish)
        if (signal.aborted) finish()
      }),
  }
}
