import { chmodSync, lstatSync, mkdirSync, rmSync } from 'node:fs'

/**
 * Commands can write where the supervisor keeps its things, and put a folder where a file was or a link in place of a folder.
 * What stands in the way is taken away, once.
 */
export function retryAfterRemoving<T>(inTheWay: readonly string[], work: () => T): T {
  try {
    return work()
  } catch {
    for (const path of inTheWay) rmSync(path, { recursive: true, force: true })
    return work()
  }
}

/** A real folder that can be written to, whatever was there. */
export function ensureFolder(path: string): void {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (found && !found.isDirectory()) rmSync(path, { force: true })
  mkdirSync(path, { recursive: true, mode: 0o700 })
  chmodSync(path, 0o700)
}
