import { readFileSync, statfsSync } from 'node:fs'
import { kernelMemoryBytes } from './kernel-memory.ts'
import type { OwnedProcess } from './process-owners.ts'
import { newSharedMemory } from './shared-memory.ts'

const PAGE = 4096
/** Reading every open file and mapping of every process is expensive. */
const SHARED_INTERVAL_MS = 500

type MemoryUse = { total: number; byOwner: Map<string | undefined, number> }

/**
 * Memory of the processes, of what they share, and of files in tmpfs: the sum that the kernel counts, where the sandbox
 * has a cgroup. The resident size counts shared pages once per process but is cheap to read; only when it exceeds the
 * limit is the proportional size (PSS) read.
 */
export function newMemoryMeter(options: { isSandboxed: boolean; limit: number }) {
  const sharedMemory = newSharedMemory()
  let shared = new Map<string | undefined, number>()
  let lookedAt = Number.NEGATIVE_INFINITY

  function sharedByOwner(members: OwnedProcess[]): Map<string | undefined, number> {
    if (performance.now() - lookedAt < SHARED_INTERVAL_MS) return shared
    lookedAt = performance.now()
    shared = sharedMemory.measure(members)
    return shared
  }

  return (members: OwnedProcess[]): MemoryUse => {
    const segments = sharedByOwner(members)
    const counted = options.isSandboxed ? kernelMemoryBytes() : undefined
    const otherBytes = options.isSandboxed ? tmpfsBytes() + sharedMemoryBytes() : 0
    const resident = sumByOwner(members, segments, (member) => member.residentPages * PAGE)
    const chosen =
      (counted ?? resident.total + otherBytes) > options.limit
        ? sumByOwner(members, segments, (member) => proportionalBytes(member))
        : resident
    return { byOwner: chosen.byOwner, total: counted ?? chosen.total + otherBytes }
  }
}

function sumByOwner(
  members: OwnedProcess[],
  segments: Map<string | undefined, number>,
  bytesOf: (member: OwnedProcess) => number,
): MemoryUse {
  const byOwner = new Map(segments)
  for (const member of members) {
    if (member.isZombie) continue
    byOwner.set(member.owner, (byOwner.get(member.owner) ?? 0) + bytesOf(member))
  }
  let total = 0
  for (const bytes of byOwner.values()) total += bytes
  return { total, byOwner }
}

/** Private memory plus the proportional part of shared memory. */
function proportionalBytes({ pid, residentPages }: OwnedProcess): number {
  try {
    const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1')
    const kilobytes = [...text.matchAll(/^Pss_(?:Anon|Shmem):\s+(\d+)/gm)].map((match) => Number(match[1]))
    if (kilobytes.length === 2) return (kilobytes[0]! + kilobytes[1]!) * 1024
  } catch {
    // The process has ended, or is not readable.
  }
  return residentPages * PAGE
}

function tmpfsBytes(): number {
  let bytes = 0
  for (const mount of ['/tmp', '/dev/shm']) {
    try {
      const { blocks, bfree, bsize } = statfsSync(mount)
      bytes += (blocks - bfree) * bsize
    } catch {
      // Not there.
    }
  }
  return bytes
}

/** System V shared memory stays allocated when no process is attached. */
function sharedMemoryBytes(): number {
  try {
    const lines = readFileSync('/proc/sysvipc/shm', 'latin1').trim().split('\n').slice(1)
    return lines.reduce((sum, line) => sum + Number(line.trim().split(/\s+/)[14] ?? 0), 0)
  } catch {
    return 0
  }
}
