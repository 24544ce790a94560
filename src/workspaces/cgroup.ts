import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { WorkspaceQuota } from '../ports/workspaces.ts'

export type Cgroup = { add(pid: number): void }

/**
 * The supervisor enforces the quota and reports violations; the kernel's limits catch what is faster than its polling.
 */
const MEMORY_FACTOR = 1.5
/** For the supervisor itself, which does not count its own use. */
const SUPERVISOR_BYTES = 128 * 1024 * 1024
const SUPERVISOR_THREADS = 32
const TASKS_PER_PROCESS = 4

const ROOT = '/sys/fs/cgroup'
const SELF = '/proc/self/cgroup'

/**
 * Limits enforced by the kernel, where this process may set them. Cgroup version 2: below or beside the process's own
 * group, if the memory and pids controllers are delegated there. Version 1: for pids only. Otherwise undefined.
 */
export function newCgroup(name: string, quota: WorkspaceQuota, root = ROOT, self = SELF): Cgroup | undefined {
  const parent = candidateParents(root, self).find((folder) => delegatesControllers(folder) || isVersion1(folder, root))
  if (!parent) return undefined
  const folder = join(parent, `holdfast-${name}`)
  try {
    if (!existsSync(folder)) mkdirSync(folder)
    writeFileSync(join(folder, 'pids.max'), String(quota.processes * TASKS_PER_PROCESS + SUPERVISOR_THREADS))
    if (!isVersion1(parent, root))
      writeFileSync(join(folder, 'memory.max'), String(Math.ceil(quota.memoryBytes * MEMORY_FACTOR) + SUPERVISOR_BYTES))
  } catch {
    return undefined
  }
  return {
    add(pid) {
      try {
        writeFileSync(join(folder, 'cgroup.procs'), String(pid))
      } catch {
        // The supervisor still enforces the quota.
      }
    },
  }
}

/**
 * Retries while the kernel still reaps the group's processes. An empty group that is left over costs next to nothing.
 */
export async function removeCgroup(name: string, root = ROOT, self = SELF): Promise<void> {
  for (const parent of candidateParents(root, self)) {
    const folder = join(parent, `holdfast-${name}`)
    for (let attempt = 0; attempt < 20 && existsSync(folder); attempt++) {
      try {
        rmdirSync(folder)
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    }
  }
}

/** Groups in which a sandbox's group could be created, the best first. */
function candidateParents(root: string, self: string): string[] {
  try {
    const text = readFileSync(self, 'utf8')
    const own = /^0::(\/.*)$/m.exec(text)?.[1]
    const counted = /^\d+:pids:(\/.*)$/m.exec(text)?.[1]
    const version2 = own === undefined ? [] : own === '/' ? [root] : [join(root, own), dirname(join(root, own))]
    return [...version2, ...(counted === undefined ? [] : [join(root, 'pids', counted)])]
  } catch {
    return []
  }
}

function delegatesControllers(folder: string): boolean {
  try {
    const controllers = readFileSync(join(folder, 'cgroup.subtree_control'), 'utf8').split(/\s+/)
    return controllers.includes('memory') && controllers.includes('pids')
  } catch {
    return false
  }
}

const isVersion1 = (folder: string, root: string): boolean =>
  folder.startsWith(join(root, 'pids')) && existsSync(join(folder, 'cgroup.procs'))
