import type { RunId } from '../core/id.ts'

/** Who in this process waits for a run to settle or to wait for a person. Told by id; they read the rest themselves. */
export type RunCompletions = {
  notify(runId: RunId): void
  /** Something may have ended without us (another process): everybody looks. */
  notifyAll(): void
  /** Resolves at the next announcement or abort. Subscribe before you read, or an ending falls between. */
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
