import type { ConversationId, OrganizationId, RunId } from '../id.ts'
import type { OutboundBody } from './outbound.ts'

/** Bots can read so much of Telegram; other platforms allow no less. Also the most that a chat is sent. */
export const MOST_FILE_BYTES = 20 * 1024 * 1024
/** Files that one run may send. */
export const MOST_FILES = 10

/** A file that a tool took from the workspace for the chat of its run. Its bytes are stored until they are sent. */
export type ChatFile = {
  /** From the tool call, so that a repeated call is the same file. */
  id: string
  organizationId: OrganizationId
  conversationId: ConversationId
  runId: RunId
  callId: string
  name: string
  mediaType: string
  bytes: number
  createdAt: number
}

/** Types that people's devices show or open by themselves; what else there is arrives as a file all the same. */
const MEDIA_TYPES: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
  svg: 'image/svg+xml',
  pdf: 'application/pdf',
  txt: 'text/plain',
  md: 'text/markdown',
  csv: 'text/csv',
  html: 'text/html',
  json: 'application/json',
  zip: 'application/zip',
  mp3: 'audio/mpeg',
  ogg: 'audio/ogg',
  wav: 'audio/wav',
  mp4: 'video/mp4',
}

export const mediaTypeOf = (name: string): string =>
  MEDIA_TYPES[/\.([a-z0-9]+)$/i.exec(name)?.[1]?.toLowerCase() ?? ''] ?? 'application/octet-stream'

/** In a name these would end a path, a header or a line, or show it in another order than it has. */
const UNSAFE = /[\p{C}\p{Zl}\p{Zp}/\\:*?"<>|]+/gu
const MOST_NAME_BYTES = 120

/** One harmless component of a path for a name that a stranger or a model chose. */
export function safeName(name: string, otherwise = 'file'): string {
  const plain = name.toWellFormed().replaceAll(UNSAFE, '_').trim().replace(/^\.+/, '')
  const dot = plain.lastIndexOf('.')
  const ending = dot > 0 && plain.length - dot <= 12 ? plain.slice(dot) : ''
  const stem = cut(plain.slice(0, plain.length - ending.length), MOST_NAME_BYTES - Buffer.byteLength(ending))
  return stem === '' || /^_*$/.test(stem) ? `${otherwise}${ending}` : `${stem}${ending}`
}

function cut(text: string, bytes: number): string {
  let kept = ''
  let size = 0
  for (const character of text) {
    size += Buffer.byteLength(character)
    if (size > bytes) break
    kept += character
  }
  return kept
}

export const megabytes = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(1)} MB`

/** What the chat is sent for a file; a platform that cannot take it gets the reason. */
export function bodyOfFile({ id, name, mediaType, bytes }: ChatFile, maxBytes: number | undefined): OutboundBody {
  if (maxBytes === undefined) return unsentFile(name, 'files cannot be sent here')
  if (bytes > maxBytes)
    return unsentFile(name, `it has ${megabytes(bytes)}, and at most ${megabytes(maxBytes)} can be sent here`)
  return { text: `📎 ${name}`, file: { id, name, mediaType, bytes } }
}

export const unsentFile = (name: string, reason: string): OutboundBody => ({
  text: `⚠️ The file ${name} was not sent: ${reason}.`,
})
