import { createHash } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

const STRIPES = 64
const LOOK_MS = 15

/**
 * One at a time, among all processes of this machine, makes, wakes or removes a workspace. An exclusive transaction on a file
 * that nothing else opens: the operating system ends it with the process, however that dies. The files are few and stay, so
 * nobody ever waits on one that was removed.
 */
export function newLaunchLock(root: string) {
  const queues = new Map<string, Promise<unknown>>()

  async function held<T>(file: string, work: () => Promise<T>): Promise<T> {
    mkdirSync(join(root, '.locks'), { recursive: true, mode: 0o700 })
    for (;;) {
      const lock = taken(file)
      if (!lock) {
        await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
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
      const mine = before.then(() => held(file, work))
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

function taken(file: string): DatabaseSync | undefined {
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
