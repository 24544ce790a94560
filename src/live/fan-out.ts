import type { NumberedChunk } from '../core/chunk.ts'
import type { RunId } from '../core/id.ts'

/** Chunks a reader may be behind before it is dropped; it can resume after the last number it saw. */
export const MAX_READER_BACKLOG = 2_000

export type Reader = {
  take(): NumberedChunk[]
  /** Everything up to this number was taken, from here or from the store. */
  advance(number: number): void
  /** The store has more than this reader was handed; asking takes the word back. */
  consumeStale(): boolean
  isBehind(): boolean
  /** Resolves when there is something to take or to look for, or at once if there is. */
  ready(signal: AbortSignal): Promise<void>
  close(): void
}

export type FanOut = {
  /** This run; without one, any. */
  isWatched(runId?: RunId): boolean
  watched(): Iterable<RunId>
  publish(runId: RunId, chunks: readonly NumberedChunk[]): void
  /** Another process may have written: whoever has seen less than this looks into the store. True: somebody had. */
  noteHead(runId: RunId, last: number): boolean
  subscribe(runId: RunId): Reader
}

type Receiver = { receive(chunks: readonly NumberedChunk[]): void; noteHead(last: number): boolean }

/** In this process only; a reader elsewhere reads the store. A slow reader costs at most its bound, and nobody else. */
export function newFanOut(): FanOut {
  const readers = new Map<RunId, Set<Receiver>>()
  return {
    isWatched: (runId) => (runId ? readers.has(runId) : readers.size > 0),
    watched: () => readers.keys(),
    publish(runId, chunks) {
      for (const reader of readers.get(runId) ?? []) reader.receive(chunks)
    },
    noteHead(runId, last) {
      let isNew = false
      for (const reader of readers.get(runId) ?? []) isNew = reader.noteHead(last) || isNew
      return isNew
    },
    subscribe(runId) {
      const { receiver, reader } = newReader(() => {
        receivers.delete(receiver)
        if (receivers.size === 0 && readers.get(runId) === receivers) readers.delete(runId)
      })
      const receivers = readers.get(runId) ?? new Set()
      readers.set(runId, receivers.add(receiver))
      return reader
    },
  }
}

function newReader(close: () => void): { receiver: Receiver; reader: Reader } {
  let queue: NumberedChunk[] = []
  let reached = 0
  let isBehind = false
  let isStale = false
  let wake: (() => void) | undefined
  // Heeded once and not with every wait: there is one for each chunk.
  let listenedSignal: AbortSignal | undefined
  const onAbort = () => wake?.()
  const receiver: Receiver = {
    receive(chunks) {
      if (queue.length + chunks.length > MAX_READER_BACKLOG) {
        isBehind = true
        queue = []
      }
      if (!isBehind) queue.push(...chunks)
      wake?.()
    },
    noteHead(last) {
      // What waits in the queue comes anyway; a gap before it is found by whoever takes it.
      if (last <= reached || queue.length > 0) return false
      isStale = true
      wake?.()
      return true
    },
  }
  const reader: Reader = {
    take() {
      const taken = queue
      queue = []
      return taken
    },
    advance(number) {
      reached = number
    },
    consumeStale() {
      const word = isStale
      isStale = false
      return word
    },
    isBehind: () => isBehind,
    ready: (signal) =>
      new Promise((resolve) => {
        if (signal !== listenedSignal) {
          listenedSignal?.removeEventListener('abort', onAbort)
          signal.addEventListener('abort', onAbort)
          listenedSignal = signal
        }
        wake = () => {
          wake = undefined
          resolve()
        }
        if (signal.aborted || queue.length > 0 || isBehind || isStale) wake()
      }),
    close() {
      listenedSignal?.removeEventListener('abort', onAbort)
      close()
    },
  }
  return { receiver, reader }
}
