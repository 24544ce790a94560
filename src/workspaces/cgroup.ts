import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { defined } from '../core/defined.ts'
import type { KernelLimit, WorkspaceQuota } from '../ports/workspaces.ts'

export type Cgroup = {
  /** The limits that the kernel enforces. */
  limits: readonly KernelLimit[]
  /** Files with the memory of the group and with the times it was full, which the supervisor reads. */
  memory?: { use: string; full: string }
  add(pid: number): void
}

/**
 * The supervisor enforces the quota and reports violations; the kernel's limits catch what is faster than its polling.
 */
const MEMORY_FACTOR = 1.25
/** For the supervisor itself, which does not count its own use. */
const SUPERVISOR_BYTES = 128 * 1024 * 1024
const SUPERVISOR_THREADS = 32
const TASKS_PER_PROCESS = 4

const ROOT = '/sys/fs/cgroup'
const SELF = '/proc/self/cgroup'

type Place = { root?: string; self?: string }
type Controller = 'memory' | 'pids' | 'cpu'

/** A folder in which the groups of sandboxes are created, and the controllers that they have there. */
type Parent = { folder: string; version: 1 | 2; controllers: readonly Controller[] }

/** A file of a group and what is written to it. Memory without swap: a limit on memory alone would only swap it out. */
type Setting = { file: string; value(quota: WorkspaceQuota): number; isOptional?: true }

const tasks = ({ processes }: WorkspaceQuota) => processes * TASKS_PER_PROCESS + SUPERVISOR_THREADS
const memoryBytes = (quota: WorkspaceQuota) => Math.ceil(quota.memoryBytes * MEMORY_FACTOR) + SUPERVISOR_BYTES

const SETTINGS: Record<Parent['version'], Record<Controller, readonly Setting[]>> = {
  1: {
    memory: [
      { file: 'memory.limit_in_bytes', value: memoryBytes },
      { file: 'memory.memsw.limit_in_bytes', value: memoryBytes, isOptional: true },
    ],
    pids: [{ file: 'pids.max', value: tasks }],
    // The default: all processes of a workspace together get as much as another workspace.
    cpu: [{ file: 'cpu.shares', value: () => 1024 }],
  },
  2: {
    memory: [
      { file: 'memory.max', value: memoryBytes },
      { file: 'memory.swap.max', value: () => 0, isOptional: true },
    ],
    pids: [{ file: 'pids.max', value: tasks }],
    cpu: [{ file: 'cpu.weight', value: () => 100 }],
  },
}

const MEMORY_FILES = {
  1: { use: 'memory.stat', full: 'memory.oom_control' },
  2: { use: 'memory.stat', full: 'memory.events' },
}

const LIMIT_OF: Record<Controller, KernelLimit> = { memory: 'memory', pids: 'processes', cpu: 'processor' }

/**
 * Limits enforced by the kernel, where this process may set them. Version 2: below or beside the process's own group,
 * with the controllers that are delegated there. Version 1: below its own group of each controller. Undefined if there
 * is none.
 */
export function newCgroup(name: string, quota: WorkspaceQuota, place: Place = {}): Cgroup | undefined {
  const groups = findParents(place).flatMap((parent) => {
    const folder = join(folderOfAll(parent), `holdfast-${name}`)
    const controllers = makeGroup(folder, parent, quota)
    return controllers.length > 0 ? [{ folder, controllers, version: parent.version }] : []
  })
  if (groups.length === 0) return undefined
  const counted = groups.find(({ controllers }) => controllers.includes('memory'))
  const files = counted && MEMORY_FILES[counted.version]
  return {
    limits: groups.flatMap(({ controllers }) => controllers.map((one) => LIMIT_OF[one])),
    ...defined({
      memory:
        counted && files ? { use: join(counted.folder, files.use), full: join(counted.folder, files.full) } : undefined,
    }),
    add(pid) {
      for (const { folder } of groups) {
        try {
          writeFileSync(join(folder, 'cgroup.procs'), String(pid))
        } catch {
          // The supervisor still enforces the quota.
        }
      }
    },
  }
}

/** The limits that a workspace would have from the kernel on this machine: creates and removes a group. */
export async function kernelLimits(place: Place = {}): Promise<readonly KernelLimit[]> {
  const name = `trial-${process.pid}`
  const group = newCgroup(name, { diskBytes: 1, memoryBytes: 1, processes: 1 }, place)
  await removeCgroup(name, place)
  return group?.limits ?? []
}

/**
 * Retries while the kernel still reaps the group's processes. An empty group that is left over costs next to nothing.
 */
export async function removeCgroup(name: string, place: Place = {}): Promise<void> {
  // Beside the common group too: a former version created the groups there.
  const places = findParents(place).flatMap(({ folder }) => [join(folder, ALL), folder])
  for (const place of places) {
    const folder = join(place, `holdfast-${name}`)
    for (let attempt = 0; attempt < 20 && existsSync(folder); attempt++) {
      try {
        rmdirSync(folder)
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    }
  }
}

const ALL = 'holdfast'

/**
 * Divides the processor time between workspaces and the rest of the machine: however many workspaces are busy, together
 * they get as much as one group outside, for example that of the server. Where that cannot be set, each gets as much.
 */
function folderOfAll({ folder, version, controllers }: Parent): string {
  if (!controllers.includes('cpu')) return folder
  const all = join(folder, ALL)
  try {
    mkdirSync(all, { recursive: true })
    if (version === 2) writeFileSync(join(all, 'cgroup.subtree_control'), controllers.map((one) => `+${one}`).join(' '))
    return all
  } catch {
    return folder
  }
}

/** Creates a group and returns the controllers whose limits could be set in it. */
function makeGroup(folder: string, { version, controllers }: Parent, quota: WorkspaceQuota): Controller[] {
  try {
    if (!existsSync(folder)) mkdirSync(folder)
  } catch {
    return []
  }
  return controllers.filter((controller) =>
    SETTINGS[version][controller].every(({ file, value, isOptional }) => {
      try {
        writeFileSync(join(folder, file), String(value(quota)))
        return true
      } catch {
        return isOptional === true
      }
    }),
  )
}

function findParents({ root = ROOT, self = SELF }: Place): Parent[] {
  let text: string
  try {
    text = readFileSync(self, 'utf8')
  } catch {
    return []
  }
  const own = /^0::(\/.*)$/m.exec(text)?.[1]
  const version2 = own === undefined ? [] : own === '/' ? [root] : [join(root, own), dirname(join(root, own))]
  const delegated = version2.map((folder) => ({ folder, version: 2 as const, controllers: delegatedIn(folder) }))
  const parents: Parent[] = delegated.filter(({ controllers }) => controllers.length > 0).slice(0, 1)
  const taken = parents.flatMap(({ controllers }) => controllers)
  for (const controller of ['memory', 'pids', 'cpu'] as const) {
    const path = new RegExp(`^\\d+:(?:[^:]*,)?${controller}(?:,[^:]*)?:(/.*)$`, 'm').exec(text)?.[1]
    const folder = path === undefined ? undefined : join(root, controller, path)
    if (folder !== undefined && !taken.includes(controller) && existsSync(join(folder, 'cgroup.procs')))
      parents.push({ folder, version: 1, controllers: [controller] })
  }
  return parents
}

/** Memory and processes together, or nothing: a group without one of them is another arrangement than ours. */
function delegatedIn(folder: string): Controller[] {
  try {
    const names = readFileSync(join(folder, 'cgroup.subtree_control'), 'utf8').split(/\s+/)
    const has = (['memory', 'pids', 'cpu'] as const).filter((one) => names.includes(one))
    return has.includes('memory') && has.includes('pids') ? has : []
  } catch {
    return []
  }
}
