import { readFileSync, writeFileSync } from 'node:fs'

const FIRST = 200
const LAST = 999

/**
 * A number that a process hands down to whatever it starts and cannot lower: how willing the kernel is to end it when memory
 * is short. A different one for each command tells whose a daemon is that left its parents, its session and its environment
 * behind; and all of them end before the server does.
 */
export function newTags() {
  const owners = new Map<number, string>()
  let next = FIRST

  return {
    put(pid: number, owner: string): void {
      try {
        writeFileSync(`/proc/${pid}/oom_score_adj`, String(next))
        owners.set(next, owner)
        next = next === LAST ? FIRST : next + 1
      } catch {
        // It has ended already, or starts above that.
      }
    },
    ownerOf(pid: number): string | undefined {
      try {
        return owners.get(Number(readFileSync(`/proc/${pid}/oom_score_adj`, 'latin1')))
      } catch {
        return undefined
      }
    },
  }
}

export type Tags = ReturnType<typeof newTags>
