import { execFile } from 'node:child_process'
import { readFileSync, statfsSync } from 'node:fs'
import { openFileBytes } from './open-files.ts'
import type { OwnedProcess } from './process-owners.ts'

/** Minimum time between two counts; and a multiple of the last count's duration, so that big trees stay cheap. */
const MIN_INTERVAL_MS = 1_000
const INTERVAL_FACTOR = 20
/** The multiple used when enough was written that the limit may be exceeded. */
const URGENT_INTERVAL_FACTOR = 2
/** The output of commands has its own limit; what commands store in the spool beyond this counts against the quota. */
const SPOOL_ALLOWANCE = 512 * 1024 * 1024

/**
 * A file counts as at least this much: half of what file systems set aside for one, so that empty files cannot use up
 * the inodes of the machine.
 */
export const BYTES_PER_FILE = 8_192

/** `files` includes folders and links. `bytes` is the larger of their space and what so many files count as. */
type DiskUse = { bytes: number; space: number; files: number; countedAt: number }

export function newDiskMeter(options: { folder: string; spool: string; limit: number }) {
  let last: DiskUse | undefined
  let tookMs = 0
  let freeAtLastCount = 0
  let writtenAtLastCount = 0
  let counting: Promise<DiskUse> | undefined

  async function countNow(members: OwnedProcess[]): Promise<DiskUse> {
    const began = performance.now()
    const free = freeBytes(options.folder)
    const written = sumValues(writtenBytes(members))
    const folders = [options.folder, options.spool]
    const [[inFolder = 0, inSpool = 0], counts] = await Promise.all([
      sumsOf(['-B1'], folders),
      sumsOf(['--inodes'], folders),
    ])
    const files = counts.reduce((sum, count) => sum + count, 0)
    const space = inFolder + Math.max(0, inSpool - SPOOL_ALLOWANCE) + unlinkedBytes(members, options.folder)
    last = { bytes: Math.max(space, files * BYTES_PER_FILE), space, files, countedAt: performance.now() }
    tookMs = last.countedAt - began
    freeAtLastCount = free
    writtenAtLastCount = written
    return last
  }

  function count(members: OwnedProcess[]): Promise<DiskUse> {
    counting ??= countNow(members).finally(() => {
      counting = undefined
    })
    return counting
  }

  /**
   * Upper bounds on the growth since the last count: the free space lost by the file system, and the bytes processes
   * wrote.
   */
  function mayExceedLimit(known: DiskUse, members: OwnedProcess[]): boolean {
    const room = options.limit - known.bytes
    return (
      freeAtLastCount - freeBytes(options.folder) > room && sumValues(writtenBytes(members)) - writtenAtLastCount > room
    )
  }

  function isDue(members: OwnedProcess[]): boolean {
    if (counting) return false
    if (!last) return true
    const since = performance.now() - last.countedAt
    return (
      since >
      (mayExceedLimit(last, members)
        ? tookMs * URGENT_INTERVAL_FACTOR
        : Math.max(MIN_INTERVAL_MS, tookMs * INTERVAL_FACTOR))
    )
  }

  /** A count that starts now: one that is under way may already have passed the files that changed. */
  async function recount(members: OwnedProcess[]): Promise<DiskUse> {
    await counting
    return count(members)
  }

  return { count, recount, isDue, last: (): DiskUse | undefined => last }
}

function freeBytes(folder: string): number {
  try {
    const { bfree, bsize } = statfsSync(folder)
    return bfree * bsize
  } catch {
    return 0
  }
}

/** Allocated blocks, so that a sparse file counts for what it takes, or inodes. Links are not followed. */
function sumsOf(options: string[], folders: string[]): Promise<number[]> {
  return new Promise((resolve) => {
    execFile('du', ['-s', '-x', ...options, '--', ...folders], { env: { PATH: '/usr/bin:/bin' } }, (_, stdout) =>
      // If a folder disappears meanwhile, `du` fails but still prints the rest.
      resolve(stdout.split('\n').map((line) => Number.parseInt(line, 10) || 0)),
    )
  })
}

/** Deleted files that still take space because a process has them open. */
function unlinkedBytes(members: OwnedProcess[], folder: string): number {
  return sumValues(openFileBytes(members, (target) => target.startsWith(`${folder}/`) && target.endsWith(' (deleted)')))
}

const sumValues = (sums: ReadonlyMap<unknown, number>): number =>
  [...sums.values()].reduce((sum, bytes) => sum + bytes, 0)

/** Bytes written so far by each owner's processes, as the kernel counts them. */
export function writtenBytes(members: OwnedProcess[]): Map<string | undefined, number> {
  const byOwner = new Map<string | undefined, number>()
  for (const { pid, owner } of members) {
    try {
      const written = /^write_bytes: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, 'latin1'))?.[1]
      byOwner.set(owner, (byOwner.get(owner) ?? 0) + Number(written ?? 0))
    } catch {
      // The process has ended.
    }
  }
  return byOwner
}
