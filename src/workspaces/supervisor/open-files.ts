import { readdirSync, readlinkSync, statSync } from 'node:fs'
import type { OwnedProcess } from './process-owners.ts'

/**
 * Bytes of matching files that processes hold open, by owner. A file counts once, for the first process found with it.
 */
export function openFileBytes(
  members: OwnedProcess[],
  matches: (target: string) => boolean,
): Map<string | undefined, number> {
  const seen = new Set<string>()
  const byOwner = new Map<string | undefined, number>()
  for (const { pid, owner } of members) {
    for (const path of descriptorsOf(pid)) {
      const bytes = bytesOf(path, matches, seen)
      if (bytes > 0) byOwner.set(owner, (byOwner.get(owner) ?? 0) + bytes)
    }
  }
  return byOwner
}

function descriptorsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).map((name) => `/proc/${pid}/fd/${name}`)
  } catch {
    return []
  }
}

function bytesOf(path: string, matches: (target: string) => boolean, seen: Set<string>): number {
  try {
    if (!matches(readlinkSync(path))) return 0
    const { dev, ino, blocks } = statSync(path)
    const name = `${dev}:${ino}`
    if (seen.has(name)) return 0
    seen.add(name)
    return blocks * 512
  } catch {
    return 0
  }
}
