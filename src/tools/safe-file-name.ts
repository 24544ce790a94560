import { createHash } from 'node:crypto'

/** Long enough for every id of Holdfast, and short enough for every file system. */
const MAX_NAME_CHARACTERS = 100

/** A file name for an untrusted id: no separators or dots, and two ids never share a name. */
export function safeFileName(id: string): string {
  const safe = id.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, MAX_NAME_CHARACTERS)
  return safe === id && safe !== '' ? safe : `${safe}-${shortDigest(id)}`
}

export const shortDigest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 32)
