import { type BigIntStats, constants } from 'node:fs'
import { type FileHandle, lstat, open, readdir } from 'node:fs/promises'
import { errorCode, FileRefusal, quoted } from './file-refusal.ts'
import { pathIn } from './open-folder.ts'
import type { ResolvedPath } from './resolve-path.ts'

export type OpenFile = { handle: FileHandle; stats: BigIntStats }

/** Opens a regular file for reading; refuses folders, pipes (which would block), devices and links. */
export async function withFile<T>(
  resolved: ResolvedPath,
  path: string,
  work: (file: OpenFile) => Promise<T>,
): Promise<T> {
  await requireFile(resolved, path)
  const handle = await openForReading(pathIn(resolved.folder, resolved.name), path)
  try {
    const stats = await handle.stat({ bigint: true })
    if (!stats.isFile()) throw notAFileError(path, stats)
    return await work({ handle, stats })
  } finally {
    await handle.close()
  }
}

/** The stats of the file or folder itself; undefined if it does not exist. */
export async function statAt(resolved: ResolvedPath): Promise<BigIntStats | undefined> {
  try {
    return await lstat(pathIn(resolved.folder, resolved.name), { bigint: true })
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  }
}

/** Checked before opening: opening a device can have effects. */
async function requireFile(resolved: ResolvedPath, path: string): Promise<void> {
  const stats = resolved.name === undefined ? undefined : await statAt(resolved)
  if (resolved.name === undefined || stats?.isDirectory()) throw await folderError(resolved, path)
  if (!stats) throw await missingError(resolved, path)
  if (!stats.isFile() && !stats.isSymbolicLink()) throw notAFileError(path, stats)
}

async function openForReading(at: string, path: string): Promise<FileHandle> {
  try {
    return await open(at, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    if (errorCode(error) === 'ELOOP') throw replacedByLinkError(path)
    throw error
  }
}

const replacedByLinkError = (path: string): FileRefusal =>
  new FileRefusal('refused', `${quoted(path)} was replaced by a link while it was being opened. Try again.`)

type FileKind = Pick<BigIntStats, 'isDirectory' | 'isFIFO' | 'isSocket' | 'isBlockDevice' | 'isCharacterDevice'>

export function notAFileError(path: string, stats: FileKind): FileRefusal {
  return new FileRefusal('not-a-file', `${quoted(path)} is ${kindOf(stats)}, not an ordinary file.`)
}

function kindOf(stats: FileKind): string {
  if (stats.isDirectory()) return 'a folder'
  if (stats.isFIFO()) return 'a named pipe'
  if (stats.isSocket()) return 'a socket'
  return stats.isBlockDevice() || stats.isCharacterDevice() ? 'a device' : 'something special'
}

const MAX_LISTED = 50

async function folderError(resolved: ResolvedPath, path: string): Promise<FileRefusal> {
  const listed = await describeFolder(pathIn(resolved.folder, resolved.name))
  return new FileRefusal('not-a-file', `${quoted(path)} is a folder. ${listed}`)
}

async function missingError(resolved: ResolvedPath, path: string): Promise<FileRefusal> {
  const listed = await describeFolder(pathIn(resolved.folder))
  return new FileRefusal('missing', `There is no file ${quoted(path)}. Where it would be: ${listed}`)
}

async function describeFolder(folder: string): Promise<string> {
  const entries = await readdir(folder, { withFileTypes: true })
  const names = entries.map((entry) => quoted(entry.isDirectory() ? `${entry.name}/` : entry.name)).sort()
  if (names.length === 0) return 'The folder is empty.'
  const more = names.length > MAX_LISTED ? `, and ${names.length - MAX_LISTED} more` : ''
  return `The folder has ${names.slice(0, MAX_LISTED).join(', ')}${more}.`
}
