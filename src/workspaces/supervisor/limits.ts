import type { LimitName, WorkspaceState } from '../../ports/workspaces.ts'
import type { SupervisorConfig } from '../protocol.ts'
import { BYTES_PER_FILE, newDiskMeter, writtenBytes } from './disk-use.ts'
import { type Killer, pause } from './kill.ts'
import { newMemoryMeter } from './memory-use.ts'
import type { OwnedProcess, ProcessOwners } from './process-owners.ts'
import type { Processes } from './processes.ts'
import { reclaimDisk } from './reclaim-disk.ts'
import type { Spool } from './spool.ts'

const POLL_MS = 100
/** If the offender's processes are not killed within this time, the whole sandbox ends. */
const KILL_TIMEOUT_MS = 1_000
/** Threads are cheaper than processes, but not free. */
const THREADS_PER_PROCESS = 8
/** A workspace that is already over its limit may grow by this much, so that it can be cleaned up. */
const GRACE_BYTES = 1024 * 1024
/** Each removes up to a hundred thousand files. */
const RECLAIM_ROUNDS = 20

type LimitsDeps = {
  config: SupervisorConfig
  processes: Processes
  owners: ProcessOwners
  killer: Killer
  spool: Spool
  endSandbox(): void
}

type Excess = { limit: LimitName; offender: string | undefined }

/**
 * Enforces the quota: measures while commands run, and ends the command that uses the most when a limit is exceeded.
 */
export function newLimits({ config, processes, owners, killer, spool, endSandbox }: LimitsDeps) {
  const { quota, containment } = config
  const isSandboxed = containment === 'bubblewrap'
  const measureMemory = newMemoryMeter({ isSandboxed, limit: quota.memoryBytes })
  const disk = newDiskMeter({ folder: config.folder, spool: config.spool, limit: quota.diskBytes })
  let allowedDisk = quota.diskBytes
  // Below the limit by as much, so that the next command has room for its own files.
  const keptBytes = quota.diskBytes - GRACE_BYTES
  let writtenBefore = new Map<string | undefined, number>()
  let measuring: Promise<void> | undefined
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
    // One at a time: until space is given back, another count would blame another command.
    if (!measuring && disk.isDue(members))
      measuring = measureDisk(members)
        .catch(() => {})
        .finally(() => {
          measuring = undefined
        })
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
    const { bytes, space } = await disk.count(members)
    const written = writtenBytes(owners.members())
    // Over the limit before any command ran, after the limit was lowered for example: no running command is to blame.
    const total = [...written.values()].reduce((sum, one) => sum + one, 0)
    if (!before && space - quota.diskBytes > total) allowedDisk = bytes + GRACE_BYTES
    if (bytes <= quota.diskBytes) allowedDisk = quota.diskBytes
    if (bytes > allowedDisk) {
      const growth = new Map([...written].map(([owner, sum]) => [owner, sum - (writtenBefore.get(owner) ?? 0)]))
      const offender = largest(growth) ?? newestRunning()
      await enforce({ limit: 'disk', offender })
      allowedDisk = Math.max(quota.diskBytes, (await reclaim(offender, Date.now())) + GRACE_BYTES)
    }
    writtenBefore = written
  }

  /** Removes what the offender wrote beyond the quota. Returns what is in use then. */
  async function reclaim(offender: string | undefined, until: number): Promise<number> {
    const entry = offender === undefined ? undefined : processes.find(offender)
    for (let round = 1; ; round++) {
      const { bytes, space, files } = await disk.recount(owners.members())
      const excess = {
        bytes: space - keptBytes,
        files: files - Math.floor(keptBytes / BYTES_PER_FILE),
      }
      const isOver = excess.bytes > 0 || excess.files > 0
      // Without a sandbox a command that runs could lead the removal to other folders of the machine.
      if (!isOver || !entry || !isSandboxed || round > RECLAIM_ROUNDS) return bytes
      const isKept = (found: { path: string; bytes: number }) =>
        spool.isOwn(found, (processId) => processes.find(processId) !== undefined)
      const offense = { since: entry.start.startedAt, until, isKept }
      await reclaimDisk([config.folder, config.spool], offense, excess)
    }
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
