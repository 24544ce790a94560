import { existsSync, readFileSync } from 'node:fs'
import { basename, relative } from 'node:path'
import type { Failure } from './summary.ts'

/** With more, the failures have one cause, and no second run finds out more. */
const MOST_FILES = 10

/**
 * The files to run once more, alone, to tell a test that fails from one that fails beside others; undefined if that says
 * nothing.
 */
export function filesOfFailures(failures: readonly Failure[], files: readonly string[]): string[] | undefined {
  const again = new Set(failures.flatMap((failure) => filesOf(failure, files)))
  const isEach = failures.every((failure) => filesOf(failure, files).length > 0)
  return isEach && again.size <= MOST_FILES ? [...again] : undefined
}

/** A test may be written in a file that several test files import, or be a whole process that ended early. */
function filesOf({ file }: Failure, files: readonly string[]): string[] {
  const path = relative('.', file)
  if (files.includes(path)) return [path]
  if (path.endsWith('.test.mjs')) {
    const batch = existsSync(path) ? readFileSync(path, 'utf8') : ''
    return files.filter((one) => batch.includes(one))
  }
  return files.filter((one) => readFileSync(one, 'utf8').includes(basename(path)))
}
