/**
 * Work on one key waits for earlier work on that key; work on others goes on beside it. `tools/one-at-a-time.ts` is its twin:
 * the supervisor sees nothing of ours but its own folder.
 */
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
