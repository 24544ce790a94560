/** Runs one piece of work at a time, in order of arrival. Work that throws releases the mutex too. */
type Mutex = <T>(work: () => T | Promise<T>) => Promise<T>

/** A mutex for each key: work on one key waits for earlier work on that key, work on other keys does not. */
export type KeyedMutex = <T>(key: string, work: () => T | Promise<T>) => Promise<T>

export function newMutex(): Mutex {
  let isTaken = false
  const waiting: (() => void)[] = []
  return async (work) => {
    if (isTaken) await new Promise<void>((resolve) => waiting.push(resolve))
    isTaken = true
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      // Passed to the next waiter without release: a new caller cannot overtake it.
      if (next) next()
      else isTaken = false
    }
  }
}

export function newKeyedMutex(): KeyedMutex {
  const inUse = new Map<string, { mutex: Mutex; users: number }>()
  return async (key, work) => {
    const entry = inUse.get(key) ?? { mutex: newMutex(), users: 0 }
    inUse.set(key, entry)
    entry.users += 1
    try {
      return await entry.mutex(work)
    } finally {
      entry.users -= 1
      if (entry.users === 0) inUse.delete(key)
    }
  }
}
