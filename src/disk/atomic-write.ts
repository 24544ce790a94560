import { closeSync, fsyncSync, linkSync, openSync, renameSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { mkdir, open, rename } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

/**
 * Replaces a file atomically: after a crash or power cut it holds the old text or the new one, never a part. `attempt`
 * names the temporary file, so repeating an interrupted write also removes its leftover.
 */
export async function replaceFile(path: string, text: string, attempt: string): Promise<void> {
  const folder = dirname(path)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const temporary = join(folder, temporaryName(path, attempt))
  const file = await open(temporary, 'w', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(temporary, path)
  await syncFolder(folder)
}

export const temporaryName = (path: string, attempt: string): string => `.${basename(path)}.${attempt}.tmp`

/** A rename is durable once its folder is synced. Windows cannot open folders and does not need this. */
export async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Like `replaceFile`, in an existing folder, synchronously, for small files. */
export function replaceFileSync(path: string, text: string): void {
  renameSync(writeTemporaryFile(path, text), path)
  syncFolderSync(dirname(path))
}

/** Readers see the old text or the new one, also after a crash of this process. After a power loss it may be gone. */
export function replaceVolatileFileSync(path: string, text: string): void {
  const temporary = join(dirname(path), temporaryName(path, `${process.pid}`))
  rmSync(temporary, { force: true })
  writeFileSync(temporary, text, { mode: 0o600, flag: 'wx' })
  renameSync(temporary, path)
}

/** Creates the file atomically; false if it exists. Of two concurrent processes one succeeds. */
export function createFileSync(path: string, text: string): boolean {
  const temporary = writeTemporaryFile(path, text)
  try {
    // Unlike a rename, a link never replaces.
    linkSync(temporary, path)
    syncFolderSync(dirname(path))
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  } finally {
    rmSync(temporary, { force: true })
  }
}

function writeTemporaryFile(path: string, text: string): string {
  const temporary = join(dirname(path), temporaryName(path, `${process.pid}`))
  // A leftover of a killed process with the same pid may have other permissions.
  rmSync(temporary, { force: true })
  const handle = openSync(temporary, 'wx', 0o600)
  try {
    writeSync(handle, text)
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
  return temporary
}

function syncFolderSync(folder: string): void {
  if (process.platform === 'win32') return
  const handle = openSync(folder, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
