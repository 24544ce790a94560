import type { NumberedChunk } from '../core/chunk.ts'
import type { RunId } from '../core/id.ts'

/** Chunks a reader may be behind before it is dropped; it can resume after the last number it saw. */
export const READER_BOUND = 2_000

export type Reader = {
  take(): NumberedChunk[]
  isBehind(): boolean
  /** Resolves when there is something to take, or at once if there is. */
  ready(signal: AbortSignal): Promise<void>
  close(): void
}

export type FanOut = {
  isWatched(runId: RunId): boolean
  publish(runId: RunId, chunks: readonly NumberedChunk[]): void
  subscribe(runId: RunId): Reader
}

/** In this process only; a reader elsewhere reads the store. A slow reader costs at most its bound, and nobody else. */
export function newFanOut(): FanOut {
  const readers = new Map<RunId, Set<(chunks: readonly NumberedChunk[]) => void>>()
  return {
    isWatched: (runId) => readers.has(runId),
    publish(runId, chunks) {
      for (const receive of readers.get(runId) ?? []) receive(chunks)
    },
    subscribe(runId) {
      let queue: NumberedChunk[] = []
      let isBehind = false
      let wake: () => void = () => {}
      const receive = (chunks: readonly NumberedChunk[]) => {
        if (queue.length + chunks.length > READER_BOUND) {
          isBehind = true
          queue = []
        }
        if (!isBehind) queue.push(...chunks)
        wake()
      }
      const receivers = readers.get(runId) ?? new Set()
      readers.set(runId, receivers.add(receive))
      return {
        take() {
          const taken = queue
          queue = []
          return taken
        },
        isBehind: () => isBehind,
        ready: (signal) =>
          new Promise((resolve) => {
            const finish = () => {
              signal.removeEventListener('abort', finish)
              wake = () => {}
              resolve()
            }
            wake = finish
            signal.addEventListener('abort', finish)
            if (signal.aborted || queue.length > 0 || isBehind) finish()
          }),
        close() {
          receivers.delete(receive)
          if (receivers.size === 0 && readers.get(runId) === receivers) readers.delete(runId)
        },
      }
    },
  }
}
