import { newBucket, newBuckets } from './rate-limit.ts'

/** Refusals of one caller that are answered at once. */
export const PROMPT = { perSecond: 25, burst: 200 }
/** Refusals of one caller that wait for their answer. */
export const MOST_WAITING = 1_000
const MOST_CALLERS = 10_000
const TICK_MS = 1000 / PROMPT.perSecond

type WaitingRefusal = {
  send(): void
  /** Ends the connection without an answer. */
  end(): void
}

type RefusalPace = {
  /** Answers at once, later, or not at all. Returns what takes the refusal back: its client has left. */
  refuse(caller: string, refusal: WaitingRefusal): () => void
  close(): void
}

/**
 * A client that ignores 429 would spend the processor time of others on refusals: beyond `PROMPT` its refusals wait, and
 * beyond `MOST_WAITING` of them its connections end.
 */
export function newRefusalPace(now: () => number = Date.now): RefusalPace {
  const buckets = newBuckets(MOST_CALLERS, () => newBucket(PROMPT))
  const waiting = new Map<string, Set<WaitingRefusal>>()
  let timer: NodeJS.Timeout | undefined

  function answerNext(): void {
    for (const [caller, queue] of waiting) {
      const [next] = queue
      if (next && buckets.of(caller).take(now()) > 0) continue
      next?.send()
      if (next) queue.delete(next)
      if (queue.size === 0) waiting.delete(caller)
    }
    if (waiting.size > 0) return
    clearInterval(timer)
    timer = undefined
  }

  return {
    refuse(caller, refusal) {
      const queue = waiting.get(caller)
      if (!queue && buckets.of(caller).take(now()) === 0) {
        refusal.send()
        return () => {}
      }
      if (queue && queue.size >= MOST_WAITING) {
        refusal.end()
        return () => {}
      }
      const joined = queue ?? new Set()
      waiting.set(caller, joined.add(refusal))
      timer ??= setInterval(answerNext, TICK_MS).unref()
      return () => void joined.delete(refusal)
    },
    close() {
      clearInterval(timer)
      for (const queue of waiting.values()) for (const { end } of queue) end()
      waiting.clear()
    },
  }
}
