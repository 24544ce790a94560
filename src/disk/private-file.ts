import { chmodSync, closeSync, openSync, statSync } from 'node:fs'

export const GROUP_AND_OTHERS = 0o077

/**
 * Creates a file that only its owner may read, with any umask, and takes the rights of others from one that exists.
 * SQLite gives its WAL the mode of the database. An existing file is not opened: closing it would release the locks that
 * this process holds on it.
 */
export function makeFilePrivate(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found) {
    takeFromOthers(path, found.mode)
    return
  }
  try {
    closeSync(openSync(path, 'wx', 0o600))
  } catch (error) {
    // Another process was first.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

/** A file of another user cannot be changed; `holdfast doctor` names it. */
function takeFromOthers(path: string, mode: number): void {
  if (process.platform === 'win32' || (mode & GROUP_AND_OTHERS) === 0) return
  try {
    chmodSync(path, mode & 0o700)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') throw error
  }
}
