import { createHash } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

const STRIPES = 64
const POLL_MS = 15

/**
 * A lock across all processes of this machine, held to create, wake or remove a workspace. It is an exclusive SQLite
 * transaction on a separate file, which the operating system ends with the process, even after a crash. The lock
 * files are few (striped) and never removed, so a process never waits on a deleted file.
 */
export function newLaunchLock(root: string) {
  const queues = new Map<string, Promise<unknown>>()

  async function withLock<T>(file: string, work: () => Promise<T>): Promise<T> {
    mkdirSync(join(root, '.locks'), { recursive: true, mode: 0o700 })
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
    while<T>(name: string, work: () => Promise<T>): Promise<T> {
      const stripe = createHash('sha256').update(name).digest()[0]! % STRIPES
      const file = join(root, '.locks', String(stripe).padStart(2, '0'))
      const before = queues.get(file) ?? Promise.resolve()
      const mine = before.then(() => withLock(file, work))
      const settled = mine.catch(() => {})
      queues.set(file, settled)
      void settled.then(() => {
        if (queues.get(file) === settled) queues.delete(file)
      })
      return mine
    },
  }
}

export type LaunchLock = ReturnType<typeof newLaunchLock>

function tryLock(file: string): DatabaseSync | undefined {
  const lock = new DatabaseSync(file, { timeout: 0 })
  try {
    lock.exec('begin exclusive')
    return lock
  } catch (fault) {
    lock.close()
    if ((fault as { errcode?: number }).errcode === SQLITE_BUSY) return undefined
    throw fault
  }
}

const SQLITE_BUSY = 5
