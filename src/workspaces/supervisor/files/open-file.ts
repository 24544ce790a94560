import { type BigIntStats, constants } from 'node:fs'
import { type FileHandle, lstat, open, readdir } from 'node:fs/promises'
import { errorCode, FileRefusal, quoted } from './file-refusal.ts'
import { pathIn } from './open-folder.ts'
import type { ResolvedPath } from './resolve-path.ts'

export type OpenFile = { handle: FileHandle; stats: BigIntStats }

/** Opens an ordinary file for reading and nothing else: no folder, no pipe that would keep us waiting, no device, no link. */
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

/** What stands at a place; undefined when nothing does. */
export async function statAt(resolved: ResolvedPath): Promise<BigIntStats | undefined> {
  try {
    return await lstat(pathIn(resolved.folder, resolved.name), { bigint: true })
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  }
}

/** Asked before it is opened: to open a device can already do something. */
async function requireFile(resolved: ResolvedPath, path: string): Promise<void> {
  const stats = resolved.name === undefined ? undefined : await statAt(resolved)
  if (resolved.name === undefined || stats?.isDirectory()) throw await folderInstead(resolved, path)
  if (!stats) throw await missing(resolved, path)
  if (!stats.isFile() && !stats.isSymbolicLink()) throw notAFileError(path, stats)
}

async function openForReading(at: string, path: string): Promise<FileHandle> {
  try {
    return await open(at, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    if (errorCode(error) === 'ELOOP') throw swapped(path)
    throw error
  }
}

const swapped = (path: string): FileRefusal =>
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

const MOST_LISTED = 50

async function folderInstead(resolved: ResolvedPath, path: string): Promise<FileRefusal> {
  const listed = await listing(pathIn(resolved.folder, resolved.name))
  return new FileRefusal('not-a-file', `${quoted(path)} is a folder. ${listed}`)
}

async function missing(resolved: ResolvedPath, path: string): Promise<FileRefusal> {
  const listed = await listing(pathIn(resolved.folder))
  return new FileRefusal('missing', `There is no file ${quoted(path)}. Where it would be: ${listed}`)
}

async function listing(folder: string): Promise<string> {
  const entries = await readdir(folder, { withFileTypes: true })
  const names = entries.map((entry) => quoted(entry.isDirectory() ? `${entry.name}/` : entry.name)).sort()
  if (names.length === 0) return 'The folder is empty.'
  const more = names.length > MOST_LISTED ? `, and ${names.length - MOST_LISTED} more` : ''
  return `The folder has ${names.slice(0, MOST_LISTED).join(', ')}${more}.`
}
