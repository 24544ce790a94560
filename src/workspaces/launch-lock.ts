import { mkdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { ConversationId } from '../core/id.ts'
import { makeFilePrivate } from '../disk/private-file.ts'

const POLL_MS = 15

/**
 * A lock across all processes of this machine, held to create, wake or remove a workspace. It is an exclusive SQLite
 * transaction on a separate file, which the operating system ends with the process, even after a crash. Each workspace
 * has its own: a launch that takes long, because commands have filled the spool for example, delays no other one.
 */
export function newLaunchLock(root: string) {
  const folder = join(root, '.locks')
  const queues = new Map<string, Promise<unknown>>()

  async function withLock<T>(file: string, work: () => Promise<T>): Promise<T> {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    for (;;) {
      const lock = tryLock(file)
      if (!lock) {
        await new Promise((resolve) => setTimeout(resolve, POLL_MS))
        continue
      }
      try {
        return await work()
      } finally {
        lock.close()
      }
    }
  }

  return {
    while<T>(name: ConversationId, work: () => Promise<T>): Promise<T> {
      const file = join(folder, name)
      const before = queues.get(file) ?? Promise.resolve()
      const mine = before.then(() => withLock(file, work))
      const settled = mine.catch(() => {})
      queues.set(file, settled)
      void settled.then(() => {
        if (queues.get(file) === settled) queues.delete(file)
      })
      return mine
    },
    /** Removes the file of a removed workspace. Call it while holding the lock. */
    forget: (name: ConversationId): void => rmSync(join(folder, name), { force: true }),
  }
}

export type LaunchLock = ReturnType<typeof newLaunchLock>

/** Undefined if another process holds the lock, or removed its file meanwhile: then a third one may hold a new file. */
function tryLock(file: string): DatabaseSync | undefined {
  makeFilePrivate(file)
  const before = inodeOf(file)
  const lock = new DatabaseSync(file, { timeout: 0 })
  try {
    lock.exec('begin exclusive')
    if (before !== undefined && inodeOf(file) === before) return lock
    lock.close()
    return undefined
  } catch (fault) {
    lock.close()
    if ((fault as { errcode?: number }).errcode === SQLITE_BUSY) return undefined
    throw fault
  }
}

const inodeOf = (file: string): number | undefined => statSync(file, { throwIfNoEntry: false })?.ino

const SQLITE_BUSY = 5
