import { readFileSync } from 'node:fs'
import { SANDBOX_PATHS } from '../sandbox/bubblewrap.ts'

/**
 * What the kernel counts for this sandbox (cgroup): every page once, also shared and unmapped ones and those of the
 * tmpfs. Undefined where the sandbox has no group for memory.
 */
export function kernelMemoryBytes(text = readFile(SANDBOX_PATHS.memoryUse)): number | undefined {
  // `total_…` in version 1; the numbers without it leave out the groups below.
  const counted = ['anon', 'total_rss', 'shmem', 'total_shmem'].map((name) => numberAfter(name, text))
  const [anonymous = counted[1], , shared = counted[3]] = counted
  return anonymous === undefined || shared === undefined ? undefined : Math.max(0, anonymous + shared - ownBytes())
}

/** How often the kernel has ended a process of this sandbox because the group was full. */
export const memoryKills = (text = readFile(SANDBOX_PATHS.memoryFull)): number => numberAfter('oom_kill', text) ?? 0

/** The supervisor's own anonymous memory. */
function ownBytes(): number {
  return (numberAfter('RssAnon:', readFile('/proc/self/status')) ?? 0) * 1024
}

function numberAfter(name: string, text: string): number | undefined {
  const found = new RegExp(`^${name}\\s+(\\d+)`, 'm').exec(text)?.[1]
  return found === undefined ? undefined : Number(found)
}

function readFile(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}
