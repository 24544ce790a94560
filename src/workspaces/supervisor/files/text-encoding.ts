import { TextDecoder } from 'node:util'

/** How the text of a file is put into bytes. What begins with the mark of an encoding is in that one; all else is UTF-8. */
export type TextEncoding = 'utf-8' | 'utf-8-marked' | 'utf-16le' | 'utf-16be'

const MARKS: [TextEncoding, number[]][] = [
  ['utf-8-marked', [0xef, 0xbb, 0xbf]],
  ['utf-16le', [0xff, 0xfe]],
  ['utf-16be', [0xfe, 0xff]],
]

export function detectEncoding(start: Buffer): TextEncoding {
  return MARKS.find(([, mark]) => mark.every((byte, index) => start[index] === byte))?.[0] ?? 'utf-8'
}

/** Takes the mark away and throws at bytes that are no text in that encoding. */
export const strictDecoder = (encoding: TextEncoding): TextDecoder =>
  new TextDecoder(encoding === 'utf-8-marked' ? 'utf-8' : encoding, { fatal: true })

export function encodeText(text: string, encoding: TextEncoding): Buffer {
  if (encoding === 'utf-8') return Buffer.from(text, 'utf8')
  if (encoding === 'utf-8-marked') return Buffer.from(`\uFEFF${text}`, 'utf8')
  const bytes = Buffer.from(`\uFEFF${text}`, 'utf16le')
  return encoding === 'utf-16be' ? bytes.swap16() : bytes
}
