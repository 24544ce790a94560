import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs'
import type { OwnedProcess } from './process-owners.ts'

/** Memory in one memfd or shared anonymous mapping, the most that was seen of it. */
type Segment = { owner: string | undefined; bytes: number }

/**
 * Memory that processes share by descriptors and mappings. It belongs to no process: pages that were written and are not
 * mapped, or not touched through the mapping, are in no resident size. A segment counts until no process has it, with
 * the most that was seen of it, because unmapping a part of it frees nothing.
 */
export function newSharedMemory() {
  let known = new Map<string, Segment>()

  return {
    /** Bytes by owner; a segment counts once, for the first process found with it. */
    measure(members: OwnedProcess[]): Map<string | undefined, number> {
      const found = new Map<string, Segment>()
      const see = (inode: string, owner: string | undefined, bytes: number) => {
        const former = found.get(inode) ?? known.get(inode)
        found.set(inode, { owner: former?.owner ?? owner, bytes: Math.max(former?.bytes ?? 0, bytes) })
      }
      for (const { pid, owner } of members) for (const [inode, bytes] of openSegments(pid)) see(inode, owner, bytes)
      // The length of a mapping is an upper bound: it counts only where no descriptor tells the exact size.
      const exact = new Set([...found.keys(), ...known.keys()])
      for (const { pid, owner } of members)
        for (const [inode, bytes] of mappedSegments(pid)) see(inode, owner, exact.has(inode) ? 0 : bytes)
      known = found
      const byOwner = new Map<string | undefined, number>()
      for (const { owner, bytes } of found.values()) byOwner.set(owner, (byOwner.get(owner) ?? 0) + bytes)
      return byOwner
    },
  }
}

function openSegments(pid: number): [inode: string, bytes: number][] {
  try {
    return readdirSync(`/proc/${pid}/fd`).flatMap((name) => {
      const path = `/proc/${pid}/fd/${name}`
      if (!linkOf(path).startsWith('/memfd:')) return []
      const { ino, blocks } = statSync(path)
      return [[String(ino), blocks * 512] as [string, number]]
    })
  } catch {
    // The process has ended.
    return []
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}

const SHARED_LINE = /^([0-9a-f]+)-([0-9a-f]+) ...s ([0-9a-f]+) \S+ (\d+)\s+\/(?:memfd:|dev\/zero )/

/** How far into each segment the process has mapped it. */
export function mappedSegments(pid: number | string, read = readMaps): [inode: string, bytes: number][] {
  return read(pid)
    .split('\n')
    .flatMap((line) => {
      const [, from, to, offset, inode] = SHARED_LINE.exec(line) ?? []
      if (from === undefined || to === undefined || offset === undefined || inode === undefined) return []
      const length = Number.parseInt(to, 16) - Number.parseInt(from, 16)
      return [[inode, Number.parseInt(offset, 16) + length] as [string, number]]
    })
}

function readMaps(pid: number | string): string {
  try {
    return readFileSync(`/proc/${pid}/maps`, 'latin1')
  } catch {
    return ''
  }
}
