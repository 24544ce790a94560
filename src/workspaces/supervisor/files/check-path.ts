import { FileRefusal } from './file-refusal.ts'

/** The limits of Linux in bytes, for a path and for one name. */
const MAX_PATH_BYTES = 4_095
const MAX_NAME_BYTES = 255

/** Every folder on the path is held open, so that `..` leads back to the folder the path came through. */
export const MAX_FOLDERS = 128

/** Refuses invalid paths, without looking at the disk. */
export function checkPath(path: string): void {
  const fault = PATH_FAULTS.find(({ applies }) => applies(path))
  if (fault) throw new FileRefusal('bad-path', fault.message)
}

const PATH_FAULTS: { applies(path: string): boolean; message: string }[] = [
  { applies: (path) => path.trim() === '', message: 'The path is empty. Give one like "notes.txt" or "src/main.py".' },
  { applies: (path) => path.includes('\0'), message: 'The path holds a NUL character, which no name of a file can.' },
  {
    applies: (path) => /[\n\r]/.test(path),
    message: 'The path holds a line break. Give the path of one file, in one line.',
  },
  { applies: (path) => !path.isWellFormed(), message: 'The path holds half a character (a lone surrogate).' },
  {
    applies: (path) => Buffer.byteLength(path) > MAX_PATH_BYTES,
    message: `The path is longer than the ${MAX_PATH_BYTES} bytes a path may have.`,
  },
  {
    applies: (path) => path.split('/').some((name) => Buffer.byteLength(name) > MAX_NAME_BYTES),
    message: `A name in the path is longer than the ${MAX_NAME_BYTES} bytes a name may have.`,
  },
  {
    applies: (path) => path.split('/').filter((name) => name !== '' && name !== '.').length > MAX_FOLDERS,
    message: `The path leads through more than ${MAX_FOLDERS} folders.`,
  },
]
