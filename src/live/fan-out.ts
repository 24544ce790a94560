import type { NumberedChunk } from '../core/chunk.ts'
import type { RunId } from '../core/id.ts'

/** Chunks that may be queued for a subscriber; with more the queue is dropped, and the subscriber reads on from the store. */
export const MAX_READER_BACKLOG = 2_000

export type Reader = {
  take(): NumberedChunk[]
  /** The subscriber has every chunk up to this number, from here or from the store. */
  advance(number: number): void
  /** True once if the store is ahead of this reader; reading clears the flag. */
  consumeStale(): boolean
  /** Resolves when chunks are queued or the store is ahead; at once if so already. */
  ready(signal: AbortSignal): Promise<void>
  close(): void
}

export type FanOut = {
  /** Whether this run, or any run, has subscribers. */
  isWatched(runId?: RunId): boolean
  watched(): Iterable<RunId>
  publish(runId: RunId, chunks: readonly NumberedChunk[]): void
  /** The store has chunks up to `last`: subscribers with fewer are woken to read it. True if there are any. */
  noteHead(runId: RunId, last: number): boolean
  subscribe(runId: RunId): Reader
}

/** The publishing side of a reader. */
type Receiver = { receive(chunks: readonly NumberedChunk[]): void; noteHead(last: number): boolean }

/** Fan-out inside this process; subscribers in other processes read the store. A slow one does not slow down others. */
export function newFanOut(): FanOut {
  const receiversOf = new Map<RunId, Set<Receiver>>()
  return {
    isWatched: (runId) => (runId ? receiversOf.has(runId) : receiversOf.size > 0),
    watched: () => receiversOf.keys(),
    publish(runId, chunks) {
      for (const receiver of receiversOf.get(runId) ?? []) receiver.receive(chunks)
    },
    noteHead(runId, last) {
      let isAnyStale = false
      for (const receiver of receiversOf.get(runId) ?? []) isAnyStale = receiver.noteHead(last) || isAnyStale
      return isAnyStale
    },
    subscribe(runId) {
      const { receiver, reader } = newReader(() => {
        receivers.delete(receiver)
        if (receivers.size === 0 && receiversOf.get(runId) === receivers) receiversOf.delete(runId)
      })
      const receivers = receiversOf.get(runId) ?? new Set()
      receiversOf.set(runId, receivers.add(receiver))
      return reader
    },
  }
}

function newReader(close: () => void): { receiver: Receiver; reader: Reader } {
  let queue: NumberedChunk[] = []
  let position = 0
  /** Its queue was full: it keeps nothing until it takes again. */
  let isBehind = false
  let isStale = false
  let wake: (() => void) | undefined
  // The abort listener is added once: there is one wait for each chunk.
  let listenedSignal: AbortSignal | undefined
  const onAbort = () => wake?.()
  const receiver: Receiver = {
    receive(chunks) {
      if (queue.length + chunks.length > MAX_READER_BACKLOG) {
        isBehind = true
        isStale = true
        queue = []
      }
      if (!isBehind) queue.push(...chunks)
      wake?.()
    },
    noteHead(last) {
      // Queued chunks are delivered anyway; the reader detects a gap before them.
      if (last <= position || queue.length > 0) return false
      isStale = true
      wake?.()
      return true
    },
  }
  const reader: Reader = {
    take() {
      const taken = queue
      queue = []
      isBehind = false
      return taken
    },
    advance(number) {
      position = number
    },
    consumeStale() {
      const wasStale = isStale
      isStale = false
      return wasStale
    },
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
        if (signal.aborted || queue.length > 0 || isStale) wake()
      }),
    close() {
      listenedSignal?.removeEventListener('abort', onAbort)
      close()
    },
  }
  return { receiver, reader }
}
