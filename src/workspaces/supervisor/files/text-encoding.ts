import { TextDecoder } from 'node:util'

/** The encoding of a text file, by its byte order mark; UTF-8 without one. `utf-8-marked` has a UTF-8 mark. */
export type TextEncoding = 'utf-8' | 'utf-8-marked' | 'utf-16le' | 'utf-16be'

const BYTE_ORDER_MARKS: [TextEncoding, number[]][] = [
  ['utf-8-marked', [0xef, 0xbb, 0xbf]],
  ['utf-16le', [0xff, 0xfe]],
  ['utf-16be', [0xfe, 0xff]],
]

export function detectEncoding(start: Buffer): TextEncoding {
  return BYTE_ORDER_MARKS.find(([, mark]) => mark.every((byte, index) => start[index] === byte))?.[0] ?? 'utf-8'
}

/** Removes the byte order mark and throws on invalid bytes. */
export const strictDecoder = (encoding: TextEncoding): TextDecoder =>
  new TextDecoder(encoding === 'utf-8-marked' ? 'utf-8' : encoding, { fatal: true })

export function encodeText(text: string, encoding: TextEncoding): Buffer {
  if (encoding === 'utf-8') return Buffer.from(text, 'utf8')
  if (encoding === 'utf-8-marked') return Buffer.from(`\uFEFF${text}`, 'utf8')
  const bytes = Buffer.from(`\uFEFF${text}`, 'utf16le')
  return encoding === 'utf-16be' ? bytes.swap16() : bytes
}
