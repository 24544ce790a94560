import { constants } from 'node:fs'
import { lstat, open, opendir, rmdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'

/** What exceeds the quota. */
type DiskExcess = { bytes: number; files: number }

/** The life of the command. `isKept` names files that the supervisor itself needs. */
type Offense = { since: number; until: number; isKept(entry: { path: string; bytes: number }): boolean }

type Entry = {
  path: string
  isFolder: boolean
  bornAt: number
  changedAt: number
  bytes: number
  size: number
  links: number
}

/** Entries kept of one walk: a command may have made more than fit into the supervisor's memory. */
const MAX_ENTRIES = 100_000
/** Timestamps of files come from a clock that ticks every few milliseconds. */
const CLOCK_TICK_MS = 20

/**
 * Gives back what a command took beyond the quota, and no more. First it removes what was created since the command
 * started, the newest first. If that is not enough it cuts files that were changed since then at their end, the largest
 * first: older content is at the beginning. What was written after its end stays. Returns what is still in excess.
 */
export async function reclaimDisk(
  folders: readonly string[],
  { since, until, isKept }: Offense,
  excess: DiskExcess,
): Promise<DiskExcess> {
  const left = { bytes: excess.bytes, files: excess.files }
  const created: Entry[] = []
  const changed: Entry[] = []
  for (const folder of folders) {
    for await (const entry of changesIn(folder, since - CLOCK_TICK_MS)) {
      if (entry.bornAt > until || entry.changedAt > until || isKept(entry)) continue
      const entries = entry.bornAt >= since - CLOCK_TICK_MS ? created : changed
      if (entries.length < MAX_ENTRIES) entries.push(entry)
    }
  }
  // A folder is removed after what is in it.
  created.sort((a, b) => b.bornAt - a.bornAt || b.path.length - a.path.length)
  for (const entry of created) {
    if (left.bytes <= 0 && left.files <= 0) return left
    if (!(await removed(entry))) continue
    left.files -= 1
    if (entry.links === 1) left.bytes -= entry.bytes
  }
  changed.sort((a, b) => b.bytes - a.bytes)
  for (const entry of changed) {
    if (left.bytes <= 0) return left
    if (!entry.isFolder && entry.bytes > 0) left.bytes -= await cut(entry, left.bytes)
  }
  return left
}

async function* changesIn(folder: string, since: number): AsyncGenerator<Entry> {
  const top = await lstat(folder).catch(() => undefined)
  for (const waiting = [folder]; waiting.length > 0; ) {
    const current = waiting.pop()!
    const entries = await opendir(current).catch(() => undefined)
    if (!entries) continue
    for await (const { name } of entries) {
      const path = join(current, name)
      const found = await lstat(path).catch(() => undefined)
      if (!found || found.dev !== top?.dev) continue
      if (found.isDirectory()) waiting.push(path)
      if (Math.max(found.ctimeMs, found.birthtimeMs) < since) continue
      const { birthtimeMs: bornAt, ctimeMs: changedAt, size, nlink } = found
      const isFolder = found.isDirectory()
      yield { path, isFolder, bornAt, changedAt, size, bytes: found.blocks * 512, links: isFolder ? 1 : nlink }
    }
  }
}

async function removed({ path, isFolder }: Entry): Promise<boolean> {
  try {
    await (isFolder ? rmdir(path) : unlink(path))
    return true
  } catch {
    // Not empty, or gone already.
    return false
  }
}

/** The bytes that were given back. */
async function cut({ path, size, bytes }: Entry, excess: number): Promise<number> {
  try {
    const file = await open(path, constants.O_WRONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      await file.truncate(Math.min(size, Math.max(0, bytes - excess)))
      return Math.max(0, bytes - (await file.stat()).blocks * 512)
    } finally {
      await file.close()
    }
  } catch {
    // Removed, or made unwritable: the next file.
    return 0
  }
}
