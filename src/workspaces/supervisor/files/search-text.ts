import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { errorCode } from './file-refusal.ts'
import { MAX_FILE_BYTES } from './search-limits.ts'
import { detectEncoding } from './text-encoding.ts'

const OPEN_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

/** Undefined if the file is too large or not text. Never through a link. */
export async function readText(path: string): Promise<string | undefined> {
  const file = await open(path, OPEN_FLAGS)
  try {
    const stats = await file.stat()
    if (!stats.isFile() || stats.size > MAX_FILE_BYTES) return undefined
    const buffer = Buffer.allocUnsafe(stats.size)
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0)
    const bytes = buffer.subarray(0, bytesRead)
    const encoding = detectEncoding(bytes)
    const text = new TextDecoder(encoding === 'utf-8-marked' ? 'utf-8' : encoding).decode(bytes)
    return text.includes('\0') ? undefined : text
  } finally {
    await file.close()
  }
}

/** Errors for files that were changed, hidden or removed during the search. */
const IGNORED_ERRORS = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES', 'EPERM', 'ENXIO', 'EIO'])

export async function ignoreUnreadable<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if (IGNORED_ERRORS.has(errorCode(error) ?? '')) return undefined
    throw error
  }
}
