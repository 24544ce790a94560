import { readFileSync, statfsSync } from 'node:fs'
import { openFileBytes } from './open-files.ts'
import type { OwnedProcess } from './process-owners.ts'

const PAGE = 4096
/** Looking at every open file of every process is dear. */
const OPEN_FILES_MS = 500

type MemoryUse = { total: number; byOwner: Map<string | undefined, number> }

/**
 * What the processes hold, and what they put into file systems that live in memory. What is resident counts what is shared in
 * every process again, but is cheap to know: only where that is too much, each is asked for its fair share.
 */
export function newMemoryMeter(options: { isSandboxed: boolean; limit: number }) {
  let inMemoryFiles = new Map<string | undefined, number>()
  let lookedAt = Number.NEGATIVE_INFINITY

  function filesInMemory(members: OwnedProcess[]): Map<string | undefined, number> {
    if (performance.now() - lookedAt < OPEN_FILES_MS) return inMemoryFiles
    lookedAt = performance.now()
    inMemoryFiles = openFileBytes(members, (target) => target.startsWith('/memfd:'))
    return inMemoryFiles
  }

  return (members: OwnedProcess[]): MemoryUse => {
    const files = filesInMemory(members)
    const common = options.isSandboxed ? heldByFileSystems() + heldBySharedMemory() : 0
    const rough = use(members, files, (member) => member.residentPages * PAGE)
    const chosen = rough.total + common > options.limit ? use(members, files, (member) => shareOf(member)) : rough
    return { ...chosen, total: chosen.total + common }
  }
}

function use(
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

/** What is its own, and its part of what it shares with others. */
function shareOf({ pid, residentPages }: OwnedProcess): number {
  try {
    const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1')
    const kilobytes = [...text.matchAll(/^Pss_(?:Anon|Shmem):\s+(\d+)/gm)].map((match) => Number(match[1]))
    if (kilobytes.length === 2) return (kilobytes[0]! + kilobytes[1]!) * 1024
  } catch {
    // It has ended, or does not let itself be looked at.
  }
  return residentPages * PAGE
}

function heldByFileSystems(): number {
  let bytes = 0
  for (const place of ['/tmp', '/dev/shm']) {
    try {
      const { blocks, bfree, bsize } = statfsSync(place)
      bytes += (blocks - bfree) * bsize
    } catch {
      // Not there.
    }
  }
  return bytes
}

/** Shared memory of the old kind stays when nobody is attached to it. */
function heldBySharedMemory(): number {
  try {
    const lines = readFileSync('/proc/sysvipc/shm', 'latin1').trim().split('\n').slice(1)
    return lines.reduce((sum, line) => sum + Number(line.trim().split(/\s+/)[14] ?? 0), 0)
  } catch {
    return 0
  }
}
