import { join } from 'node:path'
import { replaceFile } from '../disk/atomic-write.ts'
import { readIfPresent } from '../disk/read-if-present.ts'
import type { LastBackup } from '../ports/backups.ts'

const fileIn = (home: string): string => join(home, 'last-backup.json')

/** Undefined if there is no backup of this home, or its record is damaged. */
export async function readLastBackup(home: string): Promise<LastBackup | undefined> {
  try {
    const { at, file, bytes } = JSON.parse((await readIfPresent(fileIn(home))) ?? '{}') as Partial<LastBackup>
    if (!Number.isFinite(at) || typeof file !== 'string' || !Number.isFinite(bytes)) return undefined
    return { at: at!, file, bytes: bytes! }
  } catch (fault) {
    if (fault instanceof SyntaxError) return undefined
    throw fault
  }
}

export const writeLastBackup = (home: string, backup: LastBackup): Promise<void> =>
  replaceFile(fileIn(home), `${JSON.stringify(backup)}\n`, `${process.pid}`)
