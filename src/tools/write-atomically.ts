import { mkdir, open, rename } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

/**
 * The file holds the old text or the new one, never a part, whenever we are stopped. The temporary file is named by
 * `attempt`, so that whoever repeats an interrupted write also cleans up after it.
 */
export async function writeAtomically(path: string, text: string, attempt: string): Promise<void> {
  const folder = dirname(path)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const temporary = join(folder, temporaryName(path, attempt))
  await writeSynced(temporary, text)
  await rename(temporary, path)
  await syncFolder(folder)
}

export const temporaryName = (path: string, attempt: string): string => `.${basename(path)}.${attempt}.tmp`

async function writeSynced(path: string, text: string): Promise<void> {
  const file = await open(path, 'w', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** A rename is durable once its folder is. Windows cannot open a folder and needs no such thing. */
export async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
