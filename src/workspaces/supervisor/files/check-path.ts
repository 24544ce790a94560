import { FileRefusal } from './file-refusal.ts'

/** The bounds of Linux, in bytes: of a path with its end, and of one name. */
const MOST_OF_PATH = 4_095
const MOST_OF_NAME = 255

/** Each is held open on the way there, so that `..` leads back to where we came from and nowhere else. */
export const MAX_FOLDERS = 128

/** Refuses what can be no path, whatever is on the disk. */
export function checkPath(path: string): void {
  const fault = FAULTS.find(({ isSo }) => isSo(path))
  if (fault) throw new FileRefusal('bad-path', fault.words)
}

const FAULTS: { isSo(path: string): boolean; words: string }[] = [
  { isSo: (path) => path.trim() === '', words: 'The path is empty. Give one like "notes.txt" or "src/main.py".' },
  { isSo: (path) => path.includes('\0'), words: 'The path holds a NUL character, which no name of a file can.' },
  {
    isSo: (path) => /[\n\r]/.test(path),
    words: 'The path holds a line break. Give the path of one file, in one line.',
  },
  { isSo: (path) => !path.isWellFormed(), words: 'The path holds half a character (a lone surrogate).' },
  {
    isSo: (path) => Buffer.byteLength(path) > MOST_OF_PATH,
    words: `The path is longer than the ${MOST_OF_PATH} bytes a path may have.`,
  },
  {
    isSo: (path) => path.split('/').some((name) => Buffer.byteLength(name) > MOST_OF_NAME),
    words: `A name in the path is longer than the ${MOST_OF_NAME} bytes a name may have.`,
  },
  {
    isSo: (path) => path.split('/').filter((name) => name !== '' && name !== '.').length > MAX_FOLDERS,
    words: `The path leads through more than ${MAX_FOLDERS} folders.`,
  },
]
