import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { WorkspaceQuota } from '../ports/workspaces.ts'

export type Cgroup = { hold(pid: number): void }

/** For the supervisor itself, which its own count leaves out. */
const SUPERVISOR_BYTES = 128 * 1024 * 1024
const THREADS_PER_PROCESS = 8

/**
 * The kernel's own limits, where this process may set them: below its own group (version 2) or beside it, if the controllers
 * for memory and processes are handed down there. Undefined elsewhere; the supervisor counts in either case.
 */
export function newCgroup(name: string, quota: WorkspaceQuota, root = ROOT, self = SELF): Cgroup | undefined {
  const parent = parentsOf(root, self).find(handsDown)
  if (!parent) return undefined
  const folder = join(parent, `holdfast-${name}`)
  try {
    if (!existsSync(folder)) mkdirSync(folder)
    writeFileSync(join(folder, 'memory.max'), String(quota.memoryBytes + SUPERVISOR_BYTES))
    writeFileSync(join(folder, 'pids.max'), String(quota.processes * THREADS_PER_PROCESS))
  } catch {
    return undefined
  }
  return {
    hold: (pid) => writeFileSync(join(folder, 'cgroup.procs'), String(pid)),
  }
}

export function removeCgroup(name: string, root = ROOT, self = SELF): void {
  for (const parent of parentsOf(root, self)) {
    try {
      rmdirSync(join(parent, `holdfast-${name}`))
    } catch {
      // It is not there, or something in it is still ending; an empty group costs next to nothing.
    }
  }
}

const ROOT = '/sys/fs/cgroup'
const SELF = '/proc/self/cgroup'

function parentsOf(root: string, self: string): string[] {
  try {
    const path = /^0::(\/.*)$/m.exec(readFileSync(self, 'utf8'))?.[1]
    if (path === undefined) return []
    const own = join(root, path)
    return path === '/' ? [own] : [own, dirname(own)]
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
