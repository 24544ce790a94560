import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { WorkspaceQuota } from '../ports/workspaces.ts'

export type Cgroup = { add(pid: number): void }

/** The supervisor counts and tells what was too much; these are for what is faster than it can look. */
const MEMORY_FACTOR = 1.5
/** For the supervisor itself, which its own count leaves out. */
const SUPERVISOR_BYTES = 128 * 1024 * 1024
const SUPERVISOR_THREADS = 32
const TASKS_PER_PROCESS = 4

const ROOT = '/sys/fs/cgroup'
const SELF = '/proc/self/cgroup'

/**
 * The kernel's own limits, where this process may set them: in version 2 below its own group or beside it, if the controllers
 * for memory and processes are handed down there; in version 1 for processes alone. Undefined elsewhere.
 */
export function newCgroup(name: string, quota: WorkspaceQuota, root = ROOT, self = SELF): Cgroup | undefined {
  const parent = parentsOf(root, self).find((folder) => handsDown(folder) || isOfVersion1(folder, root))
  if (!parent) return undefined
  const folder = join(parent, `holdfast-${name}`)
  try {
    if (!existsSync(folder)) mkdirSync(folder)
    writeFileSync(join(folder, 'pids.max'), String(quota.processes * TASKS_PER_PROCESS + SUPERVISOR_THREADS))
    if (!isOfVersion1(parent, root))
      writeFileSync(join(folder, 'memory.max'), String(Math.ceil(quota.memoryBytes * MEMORY_FACTOR) + SUPERVISOR_BYTES))
  } catch {
    return undefined
  }
  return {
    add(pid) {
      try {
        writeFileSync(join(folder, 'cgroup.procs'), String(pid))
      } catch {
        // It is counted all the same.
      }
    },
  }
}

/** What was in it may take a moment to be gone for the kernel too; an empty group that stays costs next to nothing. */
export async function removeCgroup(name: string, root = ROOT, self = SELF): Promise<void> {
  for (const parent of parentsOf(root, self)) {
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

/** Where a group for a sandbox could be, the best first. */
function parentsOf(root: string, self: string): string[] {
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

function handsDown(folder: string): boolean {
  try {
    const controllers = readFileSync(join(folder, 'cgroup.subtree_control'), 'utf8').split(/\s+/)
    return controllers.includes('memory') && controllers.includes('pids')
  } catch {
    return false
  }
}

const isOfVersion1 = (folder: string, root: string): boolean =>
  folder.startsWith(join(root, 'pids')) && existsSync(join(folder, 'cgroup.procs'))
