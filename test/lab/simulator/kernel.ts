import { seededFraction } from '../../harness/seeded.ts'

/**
 * Virtual time and seeded scheduling: one heap of future tasks, ordered by time and, if equal, by a random draw.
 * One task runs, every promise that follows from it settles, then the next task runs. The seed decides everything.
 */
export type Kernel = {
  now(): number
  fraction(): number
  /** A whole number in [from, to]. */
  between(from: number, to: number): number
  chance(probability: number): boolean
  pick<T>(items: readonly T[]): T
  uuid(): string
  after(ms: number, task: () => void): () => void
  delay(ms: number): Promise<void>
  /** Runs until nothing is left to do, or `until` is reached. */
  run(until: number): Promise<void>
  /** True after too many events, which means an endless loop. No event runs from then on. */
  isExhausted(): boolean
  /** Adds a line to the story, and to the hash that two runs of a seed must share. */
  log(line: string): void
  readonly story: string[]
  hash(): string
  events(): number
}

type Entry = { at: number; tie: number; order: number; task(): void; isCancelled: boolean }

/** A day has about 7,000 events; the busiest of 20,000 seeds has a small multiple of that. */
const MOST_EVENTS = 150_000

export function newKernel(seed: number): Kernel {
  const fraction = seededFraction(seed)
  const heap: Entry[] = []
  const story: string[] = []
  let now = 0
  let order = 0
  let count = 0
  let digest = 0x811c9dc5

  const after = (ms: number, task: () => void) => {
    const entry: Entry = { at: now + Math.max(0, ms), tie: fraction(), order: order++, task, isCancelled: false }
    push(heap, entry)
    return () => {
      entry.isCancelled = true
    }
  }
  const between = (from: number, to: number) => from + Math.floor(fraction() * (to - from + 1))

  return {
    now: () => now,
    fraction,
    between,
    chance: (probability) => fraction() < probability,
    pick: (items) => items[Math.floor(fraction() * items.length)]!,
    uuid() {
      const hex = () =>
        Math.floor(fraction() * 0x1_0000_0000)
          .toString(16)
          .padStart(8, '0')
      const [a, b, c, d] = [hex(), hex(), hex(), hex()]
      return `${a}-${b.slice(0, 4)}-4${b.slice(5)}-8${c.slice(1, 4)}-${c.slice(4)}${d}`
    },
    after,
    delay: (ms) => new Promise((resolve) => after(ms, resolve)),
    run: (until) =>
      eachSettled(() => {
        let next = pop(heap)
        while (next?.isCancelled) next = pop(heap)
        if (!next) return false
        const isTooMuch = count >= MOST_EVENTS && until > now + 1
        if (isTooMuch || next.at > until) {
          push(heap, next)
          now = until
          return false
        }
        now = next.at
        count++
        next.task()
        return true
      }),
    log(line) {
      const text = `${(now / 1000).toFixed(3)} ${line}`
      story.push(text)
      for (let index = 0; index < text.length; index++)
        digest = Math.imul(digest ^ text.charCodeAt(index), 0x01000193) >>> 0
    },
    story,
    hash: () => digest.toString(16),
    events: () => count,
    isExhausted: () => count >= MOST_EVENTS,
  }
}

/**
 * Runs steps until one returns false. Between two immediates Node settles every promise that needs no further
 * event. Many immediates are queued at a time, because each round of the event loop costs a system call.
 */
function eachSettled(step: () => boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    let isOver = false
    const take = () => {
      if (isOver) return
      try {
        isOver = !step()
        if (isOver) resolve()
      } catch (fault) {
        isOver = true
        reject(fault as Error)
      }
    }
    const round = () => {
      if (isOver) return
      for (let index = 0; index < STEPS_A_ROUND; index++) setImmediate(take)
      setImmediate(round)
    }
    // The first step runs at once; otherwise the seeds of the regressions would have other traces.
    take()
    round()
  })
}

const STEPS_A_ROUND = 50

const isBefore = (one: Entry, other: Entry) =>
  one.at !== other.at ? one.at < other.at : one.tie !== other.tie ? one.tie < other.tie : one.order < other.order

function push(heap: Entry[], entry: Entry): void {
  heap.push(entry)
  for (let index = heap.length - 1; index > 0; ) {
    const parent = (index - 1) >> 1
    if (!isBefore(heap[index]!, heap[parent]!)) return
    swap(heap, index, parent)
    index = parent
  }
}

function pop(heap: Entry[]): Entry | undefined {
  const first = heap[0]
  const last = heap.pop()
  if (!first || !last || heap.length === 0) return first
  heap[0] = last
  for (let index = 0; ; ) {
    const left = 2 * index + 1
    const right = left + 1
    let least = index
    if (left < heap.length && isBefore(heap[left]!, heap[least]!)) least = left
    if (right < heap.length && isBefore(heap[right]!, heap[least]!)) least = right
    if (least === index) return first
    swap(heap, index, least)
    index = least
  }
}

function swap(heap: Entry[], one: number, other: number): void {
  const kept = heap[one]!
  heap[one] = heap[other]!
  heap[other] = kept
}
