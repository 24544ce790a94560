import { type Dirent, lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { GROUP_AND_OTHERS } from './private-file.ts'

/** A file or folder that others than the user of this process may use, and why. */
export type ExposedEntry = { path: string; why: string }

/** The exposed entries of a folder, itself included. `isLeftOut` names, below the folder, what is not looked at. */
export function findExposed(folder: string, isLeftOut: (path: string) => boolean): ExposedEntry[] {
  if (process.platform === 'win32') return []
  const found: ExposedEntry[] = []
  const look = (path: string, below: string): void => {
    const entry = lstatSync(path, { throwIfNoEntry: false })
    // The mode of a link has no meaning.
    if (!entry || entry.isSymbolicLink()) return
    const why = exposure(entry.uid, entry.mode)
    if (why !== undefined) found.push({ path, why })
    if (!entry.isDirectory()) return
    for (const { name } of entriesOf(path)) {
      const inner = below === '' ? name : `${below}/${name}`
      if (!isLeftOut(inner)) look(join(path, name), inner)
    }
  }
  look(folder, '')
  return found
}

function exposure(uid: number, mode: number): string | undefined {
  if (uid !== process.geteuid?.()) return `belongs to the user ${uid}`
  if ((mode & GROUP_AND_OTHERS) === 0) return undefined
  return `has the mode ${(mode & 0o777).toString(8)}; run chmod go-rwx on it`
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    // Removed meanwhile.
    return []
  }
}
