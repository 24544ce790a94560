import { existsSync } from 'node:fs'
import { errorText } from '../core/error-text.ts'
import { Problem } from '../core/problem.ts'
import { createFileSync, replaceFileSync } from '../disk/atomic-write.ts'

/** Writes a file that only its owner can read; an existing one is kept unless `force` is set. */
export function writeNewFile(path: string, text: string, { force = false }: { force?: boolean }): void {
  try {
    if (force) replaceFileSync(path, text)
    else if (!createFileSync(path, text)) throw alreadyExists(path)
  } catch (fault) {
    if (fault instanceof Problem) throw fault
    throw new Problem('invalid-argument', `${path} cannot be written: ${errorText(fault)}`)
  }
}

/** For work that should not begin if its file cannot be written in the end. */
export function refuseExisting(path: string): void {
  if (existsSync(path)) throw alreadyExists(path)
}

const alreadyExists = (path: string) =>
  new Problem('conflict', `${path} exists already. Choose another file, or add --force to replace it.`)
