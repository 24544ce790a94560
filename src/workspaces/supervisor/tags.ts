import { readFileSync } from 'node:fs'

/**
 * A limit that nothing here comes near, a little different for each command: a process hands it down to whatever it starts
 * and cannot raise it. It tells whose a daemon is that left its parents, its session and its environment behind.
 */
export function newTags() {
  const owners = new Map<number, string>()
  // Below what we have ourselves: nobody may raise it.
  const highest = Math.min(readLimit('self') ?? HIGHEST, HIGHEST)
  let next = highest

  return {
    /** In bytes of message queues, as `ulimit -q` takes it. */
    give(owner: string): number {
      next = next > LOWEST ? next - 1 : highest - 1
      owners.delete(next)
      owners.set(next, owner)
      return next
    },
    ownerOf(pid: number): string | undefined {
      const limit = readLimit(pid)
      return limit === undefined ? undefined : owners.get(limit)
    },
  }
}

export type Tags = ReturnType<typeof newTags>

/** What Linux starts with; half of it is left for whoever uses message queues. */
const HIGHEST = 819_200
const LOWEST = HIGHEST / 2

function readLimit(pid: number | 'self'): number | undefined {
  try {
    const found = /^Max msgqueue size\s+\S+\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/limits`, 'latin1'))?.[1]
    return found === undefined ? undefined : Number(found)
  } catch {
    return undefined
  }
}
