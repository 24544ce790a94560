import { closeSync, constants, fstatSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_TRUNC, O_WRONLY } = constants

const TRUNCATING = O_WRONLY | O_CREAT | O_TRUNC
const APPENDING = O_WRONLY | O_CREAT | O_APPEND

/*
 * Commands can write to the supervisor's folder. A pipe in place of a file would block forever, and a link may lead
 * anywhere: every file is opened with O_NOFOLLOW and O_NONBLOCK, and anything that is not a regular file is removed.
 */

/** Throws if the file is larger than it can be: a command wrote it, and reading it would keep the supervisor busy. */
export const readPlain = (path: string, maxBytes: number): string =>
  onDescriptor(openPlain(path, O_RDONLY), (file) => {
    const { size } = fstatSync(file)
    if (size > maxBytes) throw new Error(`${path} has ${size} bytes, more than ${maxBytes}`)
    return readFileSync(file, 'utf8')
  })

export const writePlain = (path: string, text: string): void =>
  onDescriptor(openPlain(path, TRUNCATING), (file) => writeFileSync(file, text))

export const appendPlain = (path: string, text: string): void =>
  onDescriptor(openPlain(path, APPENDING), (file) => writeFileSync(file, text))

/** For a caller that appends repeatedly. */
export const openToAppend = (path: string): number => openPlain(path, APPENDING)

export const openToRead = (path: string): number => openPlain(path, O_RDONLY)

function openPlain(path: string, flags: number): number {
  return tryOpen(path, flags) ?? tryOpen(path, flags) ?? openSync(path, flags | O_NOFOLLOW | O_NONBLOCK, 0o600)
}

/** Undefined if something else was at the path; it is removed. */
function tryOpen(path: string, flags: number): number | undefined {
  let file: number
  try {
    file = openSync(path, flags | O_NOFOLLOW | O_NONBLOCK, 0o600)
  } catch (fault) {
    if (!REMOVABLE_ERRORS.has((fault as NodeJS.ErrnoException).code ?? '')) throw fault
    rmSync(path, { recursive: true, force: true })
    return undefined
  }
  if (fstatSync(file).isFile()) return file
  closeSync(file)
  rmSync(path, { recursive: true, force: true })
  return undefined
}

/** Errors for a link, a folder, a pipe without a reader, a socket, or a file that was made unreadable. */
const REMOVABLE_ERRORS = new Set(['ELOOP', 'EISDIR', 'ENXIO', 'EACCES', 'EPERM'])

function onDescriptor<T>(file: number, work: (file: number) => T): T {
  try {
    return work(file)
  } finally {
    closeSync(file)
  }
}
