import { performance } from 'node:perf_hooks'

/** Work on one list that other requests wait for at most. */
const SLICE_MS = 4

const waiting: (() => void)[] = []

function startNext(): void {
  waiting.shift()?.()
  if (waiting.length > 0) setImmediate(startNext)
}

/** Resolves in a later turn of the event loop. Of all slices that wait, each turn starts one. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve)
    if (waiting.length === 1) setImmediate(startNext)
  })
}

/**
 * Divides work into slices: call it between two pieces. It returns a promise once the slice is used up, and the next
 * one begins when it resolves.
 */
export function newSlices(now: () => number = performance.now.bind(performance)): () => Promise<void> | undefined {
  let begun = now()
  return () => {
    if (now() - begun < SLICE_MS) return undefined
    return nextTurn().then(() => {
      begun = now()
    })
  }
}
