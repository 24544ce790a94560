import { chmodSync, lstatSync, mkdirSync, rmSync } from 'node:fs'

/**
 * Commands can write to the supervisor's folder, and put a folder where a file was or a link in place of a folder. If
 * the work fails, removes such obstacles and retries once.
 */
export function retryAfterRemoving<T>(obstacles: readonly string[], work: () => T): T {
  try {
    return work()
  } catch {
    for (const path of obstacles) rmSync(path, { recursive: true, force: true })
    return work()
  }
}

/** Makes the path a real, writable folder; replaces a file or a link. */
export function ensureFolder(path: string): void {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (found && !found.isDirectory()) rmSync(path, { force: true })
  makeFolder(path)
  chmodSync(path, 0o700)
}

/**
 * Makes one folder. Not `recursive`: if the folder above was deleted from outside of the sandbox, Node.js repeats such a
 * call for ever, and the supervisor would take a processor and never end.
 */
export function makeFolder(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (fault) {
    if ((fault as NodeJS.ErrnoException).code !== 'EEXIST') throw fault
  }
}
