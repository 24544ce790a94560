import { execFile } from 'node:child_process'
import { readFileSync, statfsSync } from 'node:fs'
import { openFileBytes } from './open-files.ts'
import type { OwnedProcess } from './process-owners.ts'

/** Between two counts, at least; and this many times as long as the last one took, so that big trees stay cheap. */
const REST_MS = 1_000
const REST_FACTOR = 20
/** When so much was written that it may be too much. */
const HURRY_FACTOR = 2
/** What commands said is kept within bounds of its own; what they put beside it counts. */
const SPOOL_ALLOWANCE = 512 * 1024 * 1024

type DiskUse = { bytes: number; countedAt: number }

export function newDiskMeter(options: { folder: string; spool: string; limit: number }) {
  let last: DiskUse | undefined
  let tookMs = 0
  let freeThen = 0
  let writtenThen = 0
  let counting: Promise<DiskUse> | undefined

  async function countNow(members: OwnedProcess[]): Promise<DiskUse> {
    const began = performance.now()
    const free = freeBytes(options.folder)
    const written = sumOf(writtenBytes(members))
    const [files = 0, spool = 0] = await treeBytes([options.folder, options.spool])
    const bytes = files + Math.max(0, spool - SPOOL_ALLOWANCE) + unlinkedBytes(members, options.folder)
    last = { bytes, countedAt: performance.now() }
    tookMs = last.countedAt - began
    freeThen = free
    writtenThen = written
    return last
  }

  function count(members: OwnedProcess[]): Promise<DiskUse> {
    counting ??= countNow(members).finally(() => {
      counting = undefined
    })
    return counting
  }

  /** What the whole file system lost since the last count, and what the processes wrote, each are the most that can have come. */
  function mayBeOver(known: DiskUse, members: OwnedProcess[]): boolean {
    const room = options.limit - known.bytes
    return freeThen - freeBytes(options.folder) > room && sumOf(writtenBytes(members)) - writtenThen > room
  }

  function isDue(members: OwnedProcess[]): boolean {
    if (counting) return false
    if (!last) return true
    const since = performance.now() - last.countedAt
    return since > (mayBeOver(last, members) ? tookMs * HURRY_FACTOR : Math.max(REST_MS, tookMs * REST_FACTOR))
  }

  /** One that has seen everything up to now: one that is under way may have passed by before. */
  async function countAnew(members: OwnedProcess[]): Promise<DiskUse> {
    await counting
    return count(members)
  }

  return { count, countAnew, isDue, last: (): DiskUse | undefined => last }
}

function freeBytes(folder: string): number {
  try {
    const { bfree, bsize } = statfsSync(folder)
    return bfree * bsize
  } catch {
    return 0
  }
}

/** Blocks that are there, so that a file with holes counts for what it takes. Links are not followed. */
function treeBytes(folders: string[]): Promise<number[]> {
  return new Promise((resolve) => {
    execFile('du', ['-s', '-x', '-B1', '--', ...folders], { env: { PATH: '/usr/bin:/bin' } }, (_, stdout) =>
      // A folder that went away meanwhile makes it fail and still tell the rest.
      resolve(stdout.split('\n').map((line) => Number.parseInt(line, 10) || 0)),
    )
  })
}

/** Files that have no name any more and live on while somebody has them open. */
function unlinkedBytes(members: OwnedProcess[], folder: string): number {
  return sumOf(openFileBytes(members, (target) => target.startsWith(`${folder}/`) && target.endsWith(' (deleted)')))
}

const sumOf = (sums: ReadonlyMap<unknown, number>): number => [...sums.values()].reduce((sum, bytes) => sum + bytes, 0)

/** What each has written so far, as the kernel counts it. */
export function writtenBytes(members: OwnedProcess[]): Map<string | undefined, number> {
  const byOwner = new Map<string | undefined, number>()
  for (const { pid, owner } of members) {
    try {
      const written = /^write_bytes: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, 'latin1'))?.[1]
      byOwner.set(owner, (byOwner.get(owner) ?? 0) + Number(written ?? 0))
    } catch {
      // It has ended.
    }
  }
  return byOwner
}
