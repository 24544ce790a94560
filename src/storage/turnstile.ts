import type { Awaitable } from './database/statement.ts'

export type Turnstile = <T>(work: () => Awaitable<T>) => Promise<T>

/** One at a time, first come first served. */
export function turnstile(): Turnstile {
  let isTaken = false
  const waiting: (() => void)[] = []
  return async (work) => {
    if (isTaken) await new Promise<void>((resolve) => waiting.push(resolve))
    isTaken = true
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      // The turn is handed on, not given up: nobody slips in between.
      if (next) next()
      else isTaken = false
    }
  }
}
