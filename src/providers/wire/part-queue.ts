import type { Part } from '../../core/answer.ts'

/** Backpressure: the socket pauses when the reader is this many parts behind. */
const HIGH_WATER = 1_024

type PartQueue = {
  reader: AsyncIterator<Part, void, void>
  push(part: Part): void
  /** Accepts no more parts; those already pushed can still be read. */
  end(): void
  /** Drops the unread parts. */
  clear(): void
  isEnded(): boolean
}

type FlowControl = { pause(): void; resume(): void; close(): void }

/** A queue between a socket and one reader. Plain promises: an async generator costs three times as much per part. */
export function newPartQueue({ pause, resume, close }: FlowControl): PartQueue {
  let parts: Part[] = []
  let head = 0
  let isEnded = false
  let isPaused = false
  let waiting: ((result: IteratorResult<Part, void>) => void) | undefined

  function next(): Promise<IteratorResult<Part, void>> {
    if (head < parts.length) {
      const value = parts[head++]!
      if (head === parts.length) onDrained()
      return Promise.resolve({ value, done: false })
    }
    if (isEnded) return Promise.resolve(DONE)
    return new Promise((resolve) => {
      waiting = resolve
    })
  }

  function onDrained(): void {
    parts = []
    head = 0
    if (!isPaused) return
    isPaused = false
    resume()
  }

  return {
    reader: {
      next,
      async return() {
        close()
        return DONE
      },
    },
    push(part) {
      if (isEnded) return
      if (waiting) {
        const resolve = waiting
        waiting = undefined
        return resolve({ value: part, done: false })
      }
      parts.push(part)
      if (isPaused || parts.length - head < HIGH_WATER) return
      isPaused = true
      pause()
    },
    end() {
      isEnded = true
      waiting?.(DONE)
      waiting = undefined
    },
    clear() {
      parts = []
      head = 0
    },
    isEnded: () => isEnded,
  }
}

const DONE: IteratorReturnResult<void> = { done: true, value: undefined }
