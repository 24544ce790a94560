import { readFileSync } from 'node:fs'

/**
 * Tags each command with a slightly different message-queue limit, which its processes inherit and cannot raise. It
 * identifies the owner of a daemon that left its parent, its session and its environment behind.
 */
export function newTags() {
  const owners = new Map<number, string>()
  // Below the supervisor's own limit, which no process may exceed.
  const highest = Math.min(readLimit('self') ?? HIGHEST, HIGHEST)
  let next = highest

  return {
    /** A limit in bytes, for `ulimit -q`. */
    assign(owner: string): number {
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

/** The default of Linux; at least half of it stays for commands that use message queues. */
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
