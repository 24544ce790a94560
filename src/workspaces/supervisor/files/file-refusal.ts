import { errorText } from '../../../core/error-text.ts'
import type { FileFault } from '../../../ports/workspace-files.ts'

/** Why a file operation is refused, in words for the model. Thrown inside this folder, a value outside. */
export class FileRefusal extends Error {
  readonly fault: FileFault
  constructor(fault: FileFault, message: string) {
    super(message)
    this.name = 'FileRefusal'
    this.fault = fault
  }
}

/** Messages for system errors; the path is shown as the model gave it. */
const ERRNO_MESSAGES: Record<string, (path: string) => [FileFault, string]> = {
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
  const toMessage = ERRNO_MESSAGES[code ?? '']
  if (toMessage) return new FileRefusal(...toMessage(quoted(path)))
  const reason = code ?? errorText(error)
  return new FileRefusal('refused', `${quoted(path)} cannot be reached: ${reason}.`)
}

export const errorCode = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined

const MAX_SHOWN = 200

/** Quoted, because a file name may contain line breaks. */
export const quoted = (path: string): string =>
  JSON.stringify(path.length > MAX_SHOWN ? `${path.slice(0, MAX_SHOWN)}…` : path)
