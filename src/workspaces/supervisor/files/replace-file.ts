import { createHash } from 'node:crypto'
import { type BigIntStats, constants } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { basename } from 'node:path'
import type { Applied, AppliedKeys } from './applied-keys.ts'
import { FileRefusal, quoted } from './file-refusal.ts'
import { atPlace, type Place } from './find-place.ts'
import { statAt } from './open-file.ts'
import { pathIn } from './open-folder.ts'

/** What stands for a moment beside a file that is being written; the search does not look into it. */
export const TEMPORARY_NAMES = '.holdfast-*.tmp'

type Replacement = {
  place: Place
  /** As the model named it. */
  path: string
  bytes: Buffer
  /** What stood there when it was decided what to write. */
  before: BigIntStats | undefined
  applied: Applied
  key: string | undefined
}

/** The file holds the old content or the new one, never a part, whenever we are stopped. False: it changed under us. */
export async function replaceFile(replacement: Replacement, keys: AppliedKeys): Promise<boolean> {
  const { place, before, key, applied } = replacement
  const name = temporaryName(key ?? place.name!)
  const temporary = pathIn(place.folder, name)
  // One that was left there by an interrupted write of the same file or under the same key.
  await rm(temporary, { force: true })
  let isRecorded = false
  try {
    await writeSynced(temporary, replacement)
    if (!isSame(before, await statAt(place))) return false
    if (key !== undefined) {
      await place.folder.sync()
      await keys.record(key, applied, besideOf(place, name))
      isRecorded = true
    }
    await rename(temporary, pathIn(place.folder, place.name))
    isRecorded = false
    await place.folder.sync()
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

const besideOf = (place: Place, name: string): string =>
  place.path.slice(0, place.path.length - place.name!.length) + name

async function writeSynced(temporary: string, { path, bytes, before }: Replacement): Promise<void> {
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
    await atPlace({ root, path: temporary }, async (place) => {
      if (!(await statAt(place))?.isFile()) return
      await before()
      await rm(pathIn(place.folder, place.name), { force: true })
    })
  } catch (error) {
    // The folder it was in is gone, and with it the question.
    if (!(error instanceof FileRefusal)) throw error
  }
}
