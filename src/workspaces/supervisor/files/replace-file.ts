import { createHash } from 'node:crypto'
import { type BigIntStats, constants } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { basename } from 'node:path'
import type { AppliedKeys, AppliedResult } from './applied-keys.ts'
import { FileRefusal, quoted } from './file-refusal.ts'
import { statAt } from './open-file.ts'
import { pathIn } from './open-folder.ts'
import { type ResolvedPath, withResolvedPath } from './resolve-path.ts'

/** What stands for a moment beside a file that is being written; the search does not look into it. */
export const TEMPORARY_NAMES = '.holdfast-*.tmp'

type FileReplacement = {
  resolved: ResolvedPath
  /** As the model named it. */
  path: string
  bytes: Buffer
  /** What stood there when it was decided what to write. */
  before: BigIntStats | undefined
  applied: AppliedResult
  key: string | undefined
}

/** The file holds the old content or the new one, never a part, whenever we are stopped. False: it changed under us. */
export async function replaceFile(replacement: FileReplacement, keys: AppliedKeys): Promise<boolean> {
  const { resolved, before, key, applied } = replacement
  const name = temporaryName(key ?? resolved.name!)
  const temporary = pathIn(resolved.folder, name)
  // One that was left there by an interrupted write of the same file or under the same key.
  await rm(temporary, { force: true })
  let isRecorded = false
  try {
    await writeSynced(temporary, replacement)
    if (!isSame(before, await statAt(resolved))) return false
    if (key !== undefined) {
      await resolved.folder.sync()
      await keys.record(key, applied, besideOf(resolved, name))
      isRecorded = true
    }
    await rename(temporary, pathIn(resolved.folder, resolved.name))
    isRecorded = false
    await resolved.folder.sync()
    return true
  } finally {
    // While a record says it was applied, only the temporary file tells that it was not.
    if (isRecorded) await keys.undo(key!)
    await rm(temporary, { force: true })
  }
}

const [BEGINNING, END] = TEMPORARY_NAMES.split('*') as [string, string]

export const isTemporary = (name: string): boolean => name.startsWith(BEGINNING) && name.endsWith(END)

const temporaryName = (seed: string): string =>
  BEGINNING + createHash('sha256').update(seed).digest('hex').slice(0, 32) + END

const besideOf = (resolved: ResolvedPath, name: string): string =>
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

/** Whether nobody else wrote, replaced, made or removed it meanwhile. */
const isSame = (one: BigIntStats | undefined, other: BigIntStats | undefined): boolean =>
  one?.ino === other?.ino && one?.dev === other?.dev && one?.size === other?.size && one?.mtimeNs === other?.mtimeNs

/** Of a write that was recorded and then interrupted: while its temporary file is there, it was not applied. */
export async function removeLeftover(root: string, temporary: string, before: () => Promise<void>): Promise<void> {
  if (!isTemporary(basename(temporary))) return
  try {
    await withResolvedPath({ root, path: temporary }, async (resolved) => {
      if (!(await statAt(resolved))?.isFile()) return
      await before()
      await rm(pathIn(resolved.folder, resolved.name), { force: true })
    })
  } catch (error) {
    // The folder it was in is gone, and with it the question.
    if (!(error instanceof FileRefusal)) throw error
  }
}
