import { createHash } from 'node:crypto'
import { type BigIntStats, constants } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { basename } from 'node:path'
import type { AppliedKeys, AppliedResult } from './applied-keys.ts'
import { FileRefusal, quoted } from './file-refusal.ts'
import { statAt } from './open-file.ts'
import { pathIn } from './open-folder.ts'
import { type ResolvedPath, withResolvedPath } from './resolve-path.ts'

/** Temporary files beside a file that is being written; the search skips them. */
export const TEMPORARY_NAMES = '.holdfast-*.tmp'

type FileReplacement = {
  resolved: ResolvedPath
  /** As the model gave it. */
  path: string
  bytes: Buffer
  /** The file when the change was prepared. */
  before: BigIntStats | undefined
  applied: AppliedResult
  key: string | undefined
}

/** Atomic: after a crash the file has the old content or the new one. False if the file changed meanwhile. */
export async function replaceFile(replacement: FileReplacement, keys: AppliedKeys): Promise<boolean> {
  const { resolved, before, key, applied } = replacement
  const name = temporaryName(key ?? resolved.name!)
  const temporary = pathIn(resolved.folder, name)
  // Left by an interrupted write of the same file or with the same key.
  await rm(temporary, { force: true })
  let isRecorded = false
  try {
    await writeSynced(temporary, replacement)
    if (!isUnchanged(before, await statAt(resolved))) return false
    if (key !== undefined) {
      await resolved.folder.sync()
      await keys.record(key, applied, siblingPath(resolved, name))
      isRecorded = true
    }
    await rename(temporary, pathIn(resolved.folder, resolved.name))
    isRecorded = false
    await resolved.folder.sync()
    return true
  } finally {
    // Undo the record before removing the temporary file, which marks the recorded change as not applied.
    if (isRecorded) await keys.undo(key!)
    await rm(temporary, { force: true })
  }
}

const [TEMPORARY_PREFIX, TEMPORARY_SUFFIX] = TEMPORARY_NAMES.split('*') as [string, string]

export const isTemporary = (name: string): boolean =>
  name.startsWith(TEMPORARY_PREFIX) && name.endsWith(TEMPORARY_SUFFIX)

const temporaryName = (seed: string): string =>
  TEMPORARY_PREFIX + createHash('sha256').update(seed).digest('hex').slice(0, 32) + TEMPORARY_SUFFIX

const siblingPath = (resolved: ResolvedPath, name: string): string =>
  resolved.path.slice(0, resolved.path.length - resolved.name!.length) + name

async function writeSynced(temporary: string, { path, bytes, before }: FileReplacement): Promise<void> {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW
  const file = await open(temporary, flags, 0o666)
  try {
    if (before) await file.chmod(Number(before.mode) & 0o7777)
    await file.writeFile(bytes)
    await file.sync()
    const { size } = await file.stat()
    if (size !== bytes.length) throw new FileRefusal('refused', `${quoted(path)} could not be written whole.`)
  } finally {
    await file.close()
  }
}

/** Whether the file was not written, replaced, created or removed meanwhile. */
const isUnchanged = (one: BigIntStats | undefined, other: BigIntStats | undefined): boolean =>
  one?.ino === other?.ino && one?.dev === other?.dev && one?.size === other?.size && one?.mtimeNs === other?.mtimeNs

/** Removes the temporary file of a recorded write that was interrupted: while it exists, the write was not applied. */
export async function removeLeftover(root: string, temporary: string, before: () => Promise<void>): Promise<void> {
  if (!isTemporary(basename(temporary))) return
  try {
    await withResolvedPath({ root, path: temporary }, async (resolved) => {
      if (!(await statAt(resolved))?.isFile()) return
      await before()
      await rm(pathIn(resolved.folder, resolved.name), { force: true })
    })
  } catch (error) {
    // Its folder is gone, so there is nothing to remove.
    if (!(error instanceof FileRefusal)) throw error
  }
}
