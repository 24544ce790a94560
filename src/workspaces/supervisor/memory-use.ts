import { readFileSync, statfsSync } from 'node:fs'
import { openFileBytes } from './open-files.ts'
import type { OwnedProcess } from './process-owners.ts'

const PAGE = 4096
/** Reading every open file of every process is expensive. */
const OPEN_FILES_INTERVAL_MS = 500

type MemoryUse = { total: number; byOwner: Map<string | undefined, number> }

/**
 * Memory of the processes and of their files in tmpfs and memfd. The resident size counts shared pages once per process
 * but is cheap to read; only when it exceeds the limit is the proportional size (PSS) read.
 */
export function newMemoryMeter(options: { isSandboxed: boolean; limit: number }) {
  let inMemoryFiles = new Map<string | undefined, number>()
  let lookedAt = Number.NEGATIVE_INFINITY

  function filesInMemory(members: OwnedProcess[]): Map<string | undefined, number> {
    if (performance.now() - lookedAt < OPEN_FILES_INTERVAL_MS) return inMemoryFiles
    lookedAt = performance.now()
    inMemoryFiles = openFileBytes(members, (target) => target.startsWith('/memfd:'))
    return inMemoryFiles
  }

  return (members: OwnedProcess[]): MemoryUse => {
    const files = filesInMemory(members)
    const sharedBytes = options.isSandboxed ? tmpfsBytes() + sharedMemoryBytes() : 0
    const resident = sumByOwner(members, files, (member) => member.residentPages * PAGE)
    const chosen =
      resident.total + sharedBytes > options.limit
        ? sumByOwner(members, files, (member) => proportionalBytes(member))
        : resident
    return { ...chosen, total: chosen.total + sharedBytes }
  }
}

function sumByOwner(
  members: OwnedProcess[],
  files: Map<string | undefined, number>,
  bytesOf: (member: OwnedProcess) => number,
): MemoryUse {
  const byOwner = new Map(files)
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
