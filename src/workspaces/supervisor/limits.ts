import type { LimitName, WorkspaceState } from '../../ports/workspaces.ts'
import type { SupervisorConfig } from '../protocol.ts'
import { newDiskMeter, writtenBytes } from './disk-use.ts'
import { type Killer, pause } from './kill.ts'
import { newMemoryMeter } from './memory-use.ts'
import type { OwnedProcess, ProcessOwners } from './process-owners.ts'
import type { Processes } from './processes.ts'

const POLL_MS = 100
/** If the offender's processes are not killed within this time, the whole sandbox ends. */
const KILL_TIMEOUT_MS = 1_000
/** Threads are cheaper than processes, but not free. */
const THREADS_PER_PROCESS = 8
/** A workspace that is already over its limit may grow by this much, so that it can be cleaned up. */
const GRACE_BYTES = 1024 * 1024

type LimitsDeps = {
  config: SupervisorConfig
  processes: Processes
  owners: ProcessOwners
  killer: Killer
  endSandbox(): void
}

type Excess = { limit: LimitName; offender: string | undefined }

/**
 * Enforces the quota: measures while commands run, and ends the command that uses the most when a limit is exceeded.
 */
export function newLimits({ config, processes, owners, killer, endSandbox }: LimitsDeps) {
  const { quota, containment } = config
  const isSandboxed = containment === 'bubblewrap'
  const measureMemory = newMemoryMeter({ isSandboxed, limit: quota.memoryBytes })
  const disk = newDiskMeter({ folder: config.folder, spool: config.spool, limit: quota.diskBytes })
  let allowedDisk = quota.diskBytes
  let writtenBefore = new Map<string | undefined, number>()
  let isWatching = false

  async function watch(): Promise<void> {
    if (isWatching) return
    isWatching = true
    while (isWatching) {
      // A check may fail, without a free descriptor for example; the next one tries again.
      isWatching = await check().catch(() => true)
      if (isWatching) await pause(POLL_MS)
    }
  }

  /** False when no process is left. */
  async function check(): Promise<boolean> {
    const members = owners.members()
    if (processes.running().length === 0 && members.every((member) => member.isZombie)) return false
    if (disk.isDue(members)) void measureDisk(members).catch(() => {})
    const excess = findExcess(members)
    if (excess) await enforce(excess)
    return true
  }

  function findExcess(members: OwnedProcess[]): Excess | undefined {
    const living = members.filter((member) => !member.isZombie)
    if (living.length > quota.processes) return { limit: 'processes', offender: findLargestOwner(living, () => 1) }
    const threads = living.reduce((sum, member) => sum + member.threads, 0)
    if (threads > quota.processes * THREADS_PER_PROCESS)
      return { limit: 'processes', offender: findLargestOwner(living, (member) => member.threads) }
    const memory = measureMemory(living)
    if (memory.total > quota.memoryBytes) return { limit: 'memory', offender: largest(memory.byOwner) }
    return undefined
  }

  /** Kills the offender's processes only, and records the limit as its ending. */
  async function enforce({ limit, offender }: Excess): Promise<void> {
    const entry = offender === undefined ? undefined : processes.find(offender)
    if (entry && !entry.end) entry.plannedEnding = { type: 'over-limit', limit }
    const began = performance.now()
    while (killer.killNow((member) => member.owner === offender) > 0) {
      if (performance.now() - began > KILL_TIMEOUT_MS) {
        endSandbox()
        return
      }
      await pause(5)
    }
  }

  async function measureDisk(members: OwnedProcess[]): Promise<void> {
    const before = disk.last()
    const { bytes } = await disk.count(members)
    const written = writtenBytes(owners.members())
    // Over the limit before any command ran: no running command is to blame.
    if (!before && bytes > quota.diskBytes) allowedDisk = bytes + GRACE_BYTES
    if (bytes <= quota.diskBytes) allowedDisk = quota.diskBytes
    if (bytes > allowedDisk) {
      const growth = new Map([...written].map(([owner, sum]) => [owner, sum - (writtenBefore.get(owner) ?? 0)]))
      await enforce({ limit: 'disk', offender: largest(growth) ?? newestRunning() })
      allowedDisk = bytes + GRACE_BYTES
    }
    writtenBefore = written
  }

  const newestRunning = () => processes.running().at(-1)?.start.processId

  return {
    watch: () => void watch(),
    /** As of the last count; starts the next count if it is due. */
    spaceLeft(): number | undefined {
      const known = disk.last()
      if (disk.isDue([])) void disk.count([])
      return known ? Math.max(0, quota.diskBytes - known.bytes) : undefined
    },
    async usage(): Promise<WorkspaceState['usage']> {
      const members = owners.members().filter((member) => !member.isZombie)
      const { bytes } = await disk.recount(members)
      return { diskBytes: bytes, processes: members.length, memoryBytes: measureMemory(members).total }
    },
  }
}

export type Limits = ReturnType<typeof newLimits>

function findLargestOwner(members: OwnedProcess[], weight: (member: OwnedProcess) => number): string | undefined {
  const sums = new Map<string | undefined, number>()
  for (const member of members) sums.set(member.owner, (sums.get(member.owner) ?? 0) + weight(member))
  return largest(sums)
}

function largest(sums: ReadonlyMap<string | undefined, number>): string | undefined {
  let found: string | undefined
  let most = Number.NEGATIVE_INFINITY
  for (const [owner, sum] of sums) {
    if (sum <= most) continue
    found = owner
    most = sum
  }
  return found
}
