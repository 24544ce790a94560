/** As the keyed mutex of `core/mutex.ts`, which the sandbox does not see: the supervisor runs from its own folder alone. */
export type InTurn = <T>(key: string, work: () => Promise<T>) => Promise<T>

export function newInTurn(): InTurn {
  const last = new Map<string, Promise<unknown>>()
  return async (key, work) => {
    const before = last.get(key)
    const mine = before ? before.then(work, work) : work()
    last.set(key, mine)
    try {
      return await mine
    } finally {
      if (last.get(key) === mine) last.delete(key)
    }
  }
}
