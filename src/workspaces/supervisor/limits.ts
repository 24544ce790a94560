import type { LimitName, WorkspaceState } from '../../ports/workspaces.ts'
import type { SupervisorConfig } from '../protocol.ts'
import { newDiskMeter, writtenBytes } from './disk-use.ts'
import { type Killer, pause } from './kill.ts'
import { newMemoryMeter } from './memory-use.ts'
import type { OwnedProcess, ProcessOwners } from './process-owners.ts'
import type { Processes } from './processes.ts'

const LOOK_MS = 100
/** What cannot be stopped within this ends with the whole sandbox. */
const PATIENCE_MS = 1_000
/** Threads are cheaper than processes, but not free. */
const THREADS_PER_PROCESS = 8
/** So much more may come to what is over its limit already, so that it can be tidied up. */
const LEEWAY = 1024 * 1024

type LimitsDeps = {
  config: SupervisorConfig
  processes: Processes
  owners: ProcessOwners
  killer: Killer
  endSandbox(): void
}

type Excess = { limit: LimitName; offender: string | undefined }

/** Counts what the commands take and ends whoever takes the most when it is too much. Looks only while something runs. */
export function newLimits({ config, processes, owners, killer, endSandbox }: LimitsDeps) {
  const { quota, containment } = config
  const isSandboxed = containment === 'bubblewrap'
  const memoryOf = newMemoryMeter({ isSandboxed, limit: quota.memoryBytes })
  const disk = newDiskMeter({ folder: config.folder, spool: config.spool, limit: quota.diskBytes })
  let allowedDisk = quota.diskBytes
  let writtenBefore = new Map<string | undefined, number>()
  let isWatching = false

  async function watch(): Promise<void> {
    if (isWatching) return
    isWatching = true
    while (isWatching) {
      // A look that fails, for want of a descriptor say, is no reason not to look again.
      isWatching = await look().catch(() => true)
      if (isWatching) await pause(LOOK_MS)
    }
  }

  /** False when there is nothing left to look at. */
  async function look(): Promise<boolean> {
    const members = owners.members()
    if (processes.running().length === 0 && members.every((member) => member.isZombie)) return false
    if (disk.isDue(members)) void measureDisk(members).catch(() => {})
    const excess = excessOf(members)
    if (excess) await enforce(excess)
    return true
  }

  function excessOf(members: OwnedProcess[]): Excess | undefined {
    const living = members.filter((member) => !member.isZombie)
    if (living.length > quota.processes) return { limit: 'processes', offender: mostOf(living, () => 1) }
    const threads = living.reduce((sum, member) => sum + member.threads, 0)
    if (threads > quota.processes * THREADS_PER_PROCESS)
      return { limit: 'processes', offender: mostOf(living, (member) => member.threads) }
    const memory = memoryOf(living)
    if (memory.total > quota.memoryBytes) return { limit: 'memory', offender: largest(memory.byOwner) }
    return undefined
  }

  /** Whoever is struck is told why; others live on. */
  async function enforce({ limit, offender }: Excess): Promise<void> {
    const entry = offender === undefined ? undefined : processes.find(offender)
    if (entry && !entry.end) entry.plannedEnding = { type: 'over-limit', limit }
    const began = performance.now()
    while (killer.killNow((member) => member.owner === offender) > 0) {
      if (performance.now() - began > PATIENCE_MS) {
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
    // What was too much before anything ran is nobody's fault now.
    if (!before && bytes > quota.diskBytes) allowedDisk = bytes + LEEWAY
    if (bytes <= quota.diskBytes) allowedDisk = quota.diskBytes
    if (bytes > allowedDisk) {
      const growth = new Map([...written].map(([owner, sum]) => [owner, sum - (writtenBefore.get(owner) ?? 0)]))
      await enforce({ limit: 'disk', offender: largest(growth) ?? newestRunning() })
      allowedDisk = bytes + LEEWAY
    }
    writtenBefore = written
  }

  const newestRunning = () => processes.running().at(-1)?.start.processId

  return {
    watch: () => void watch(),
    /** As of the last count; who asks makes the next one due. */
    spaceLeft(): number | undefined {
      const known = disk.last()
      if (disk.isDue([])) void disk.count([])
      return known ? Math.max(0, quota.diskBytes - known.bytes) : undefined
    },
    async usage(): Promise<WorkspaceState['usage']> {
      const members = owners.members().filter((member) => !member.isZombie)
      const { bytes } = await disk.countAnew(members)
      return { diskBytes: bytes, processes: members.length, memoryBytes: memoryOf(members).total }
    },
  }
}

export type Limits = ReturnType<typeof newLimits>

function mostOf(members: OwnedProcess[], weight: (member: OwnedProcess) => number): string | undefined {
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
