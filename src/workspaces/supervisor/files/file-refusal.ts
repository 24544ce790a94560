import { errorText } from '../../../core/error-text.ts'
import type { FileFault } from '../../../ports/workspace-files.ts'

/** Why something asked about a file is not done, in words for the model. Thrown inside this folder, a value outside. */
export class FileRefusal extends Error {
  readonly fault: FileFault
  constructor(fault: FileFault, message: string) {
    super(message)
    this.name = 'FileRefusal'
    this.fault = fault
  }
}

/** What the system says, in our words; the path as the model gave it. */
const SYSTEM_WORDS: Record<string, (path: string) => [FileFault, string]> = {
  ENOENT: (path) => ['missing', `There is no ${path}.`],
  ENOTDIR: (path) => ['not-a-file', `A part of the path ${path} is a file and not a folder.`],
  EISDIR: (path) => ['not-a-file', `${path} is a folder.`],
  EACCES: (path) => ['refused', `Permission to ${path} is denied.`],
  EPERM: (path) => ['refused', `Permission to ${path} is denied.`],
  EROFS: (path) => ['refused', `${path} is on a file system that is read-only.`],
  ENOSPC: () => ['refused', 'There is no room left on the disk. Nothing was changed: remove something first.'],
  EDQUOT: () => ['refused', 'There is no room left on the disk. Nothing was changed: remove something first.'],
  EFBIG: (path) => ['too-large', `${path} would be larger than files may be here. Nothing was changed.`],
  ENAMETOOLONG: (path) => ['bad-path', `A name in the path ${path} is longer than the 255 bytes a name may have.`],
  EILSEQ: (path) => ['bad-path', `The path ${path} holds characters that names of files cannot hold here.`],
  EMFILE: () => ['refused', 'Too many files are open in the workspace just now. Try again.'],
  ENFILE: () => ['refused', 'Too many files are open on this machine just now. Try again.'],
}

export function toFileRefusal(error: unknown, path: string): FileRefusal {
  if (error instanceof FileRefusal) return error
  const code = errorCode(error)
  const words = SYSTEM_WORDS[code ?? '']
  if (words) return new FileRefusal(...words(quoted(path)))
  const reason = code ?? errorText(error)
  return new FileRefusal('refused', `${quoted(path)} cannot be reached: ${reason}.`)
}

export const errorCode = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined

const MOST_SHOWN = 200

/** A name may hold anything: as it is shown it cannot break out of its line. */
export const quoted = (path: string): string =>
  JSON.stringify(path.length > MOST_SHOWN ? `${path.slice(0, MOST_SHOWN)}…` : path)
