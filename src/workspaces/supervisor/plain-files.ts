import { closeSync, constants, fstatSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_TRUNC, O_WRONLY } = constants

const TRUNCATING = O_WRONLY | O_CREAT | O_TRUNC
const APPENDING = O_WRONLY | O_CREAT | O_APPEND

/*
 * Commands can write where the supervisor keeps its things. A pipe in place of a file would be waited on for ever, and a link
 * may lead anywhere: nothing is opened by its name alone, and what is no file is taken away.
 */

export const readPlain = (path: string): string =>
  onDescriptor(openPlain(path, O_RDONLY), (file) => readFileSync(file, 'utf8'))

export const writePlain = (path: string, text: string): void =>
  onDescriptor(openPlain(path, TRUNCATING), (file) => writeFileSync(file, text))

export const appendPlain = (path: string, text: string): void =>
  onDescriptor(openPlain(path, APPENDING), (file) => writeFileSync(file, text))

/** For whoever appends for a while. */
export const openToAppend = (path: string): number => openPlain(path, APPENDING)

export const openToRead = (path: string): number => openPlain(path, O_RDONLY)

function openPlain(path: string, flags: number): number {
  return tried(path, flags) ?? tried(path, flags) ?? openSync(path, flags | O_NOFOLLOW | O_NONBLOCK, 0o600)
}

/** Undefined: something else stood there and is gone. */
function tried(path: string, flags: number): number | undefined {
  let file: number
  try {
    file = openSync(path, flags | O_NOFOLLOW | O_NONBLOCK, 0o600)
  } catch (fault) {
    if (!IN_THE_WAY.has((fault as NodeJS.ErrnoException).code ?? '')) throw fault
    rmSync(path, { recursive: true, force: true })
    return undefined
  }
  if (fstatSync(file).isFile()) return file
  closeSync(file)
  rmSync(path, { recursive: true, force: true })
  return undefined
}

/** A link, a folder, a pipe that nobody reads, a socket, or a file that was made unreadable. */
const IN_THE_WAY = new Set(['ELOOP', 'EISDIR', 'ENXIO', 'EACCES', 'EPERM'])

function onDescriptor<T>(file: number, work: (file: number) => T): T {
  try {
    return work(file)
  } finally {
    closeSync(file)
  }
}
