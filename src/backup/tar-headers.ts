import type { BytePath } from './byte-path.ts'

/** One entry of a tar archive (POSIX pax format). */
export type TarEntry = {
  path: BytePath
  type: 'file' | 'folder' | 'link'
  size: number
  mode: number
  /** In seconds. */
  modifiedAt: number
  /** Target of a link. */
  target: BytePath
}

export const BLOCK = 512

const FLAGS = { file: '0', folder: '5', link: '2' } as const
const PAX = 'x'
const MAX_NAME = 100
const MAX_OCTAL_SIZE = 0o77777777777

/** The header blocks of an entry: with a pax header before, where a field does not fit. */
export function encodeHeader(entry: TarEntry): Buffer {
  const path = entry.type === 'folder' ? `${entry.path}/` : entry.path
  const records = [
    ...(path.length > MAX_NAME || !isAscii(path) ? [paxRecord('path', path)] : []),
    ...(entry.target.length > MAX_NAME || !isAscii(entry.target) ? [paxRecord('linkpath', entry.target)] : []),
    ...(entry.size > MAX_OCTAL_SIZE ? [paxRecord('size', String(entry.size))] : []),
  ]
  const plain = block({ ...entry, path: path.slice(0, MAX_NAME) }, FLAGS[entry.type])
  if (records.length === 0) return plain
  const extended = Buffer.from(records.join(''), 'latin1')
  const header = { path: 'pax-header', size: extended.length, mode: 0o600, modifiedAt: entry.modifiedAt, target: '' }
  return Buffer.concat([block(header, PAX), extended, Buffer.alloc(paddingOf(extended.length)), plain])
}

/** Bytes of zeros after the content of an entry. */
export const paddingOf = (size: number): number => (BLOCK - (size % BLOCK)) % BLOCK

export const END_OF_ARCHIVE = Buffer.alloc(2 * BLOCK)

/** A field that a reader needs in one header block. `flag` is its type in the format. */
type ParsedHeader = Omit<TarEntry, 'type'> & { flag: string }

/** Undefined for the block of zeros that ends an archive; throws if the block is no header. */
export function parseHeader(bytes: Buffer): ParsedHeader | undefined {
  if (bytes.every((byte) => byte === 0)) return undefined
  if (octal(bytes, 148, 8) !== checksumOf(bytes)) throw new Error('a header has a wrong checksum')
  const prefix = text(bytes, 345, 155)
  const name = text(bytes, 0, 100)
  return {
    path: prefix === '' ? name : `${prefix}/${name}`,
    mode: octal(bytes, 100, 8),
    size: octal(bytes, 124, 12),
    modifiedAt: octal(bytes, 136, 12),
    flag: String.fromCharCode(bytes[156] || 0x30),
    target: text(bytes, 157, 100),
  }
}

export const TYPE_OF_FLAG: Readonly<Record<string, TarEntry['type']>> = { 0: 'file', 5: 'folder', 2: 'link' }
export const isPaxFlag = (flag: string): boolean => flag === PAX

/** The records of a pax header: `<length> <name>=<value>\n` each. */
export function parsePax(bytes: Buffer): Record<string, string> {
  const records: Record<string, string> = {}
  for (let from = 0; from < bytes.length; ) {
    const space = bytes.indexOf(0x20, from)
    const length = Number(bytes.toString('latin1', from, space))
    const end = from + length
    if (space < 0 || !Number.isInteger(length) || end > bytes.length || end <= space + 1 || bytes[end - 1] !== 0x0a)
      throw new Error('an extended header is damaged')
    const record = bytes.toString('latin1', space + 1, end - 1)
    const equals = record.indexOf('=')
    if (equals < 1) throw new Error('an extended header is damaged')
    records[record.slice(0, equals)] = record.slice(equals + 1)
    from = end
  }
  return records
}

function paxRecord(name: string, value: string): string {
  const rest = ` ${name}=${value}\n`
  let length = rest.length + 1
  while (`${length}`.length + rest.length !== length) length = `${length}`.length + rest.length
  return `${length}${rest}`
}

function block({ path, size, mode, modifiedAt, target }: Omit<TarEntry, 'type'>, flag: string): Buffer {
  const bytes = Buffer.alloc(BLOCK)
  const write = (value: string, at: number) => void bytes.write(value, at, 'latin1')
  const writeOctal = (value: number, at: number, length: number) =>
    write(
      value
        .toString(8)
        .padStart(length - 1, '0')
        .slice(-(length - 1)),
      at,
    )
  write(path, 0)
  writeOctal(mode & 0o777, 100, 8)
  writeOctal(0, 108, 8)
  writeOctal(0, 116, 8)
  writeOctal(Math.min(size, MAX_OCTAL_SIZE), 124, 12)
  writeOctal(Math.max(0, Math.floor(modifiedAt)), 136, 12)
  write(flag, 156)
  write(target.slice(0, MAX_NAME), 157)
  write('ustar\u000000', 257)
  write(`${checksumOf(bytes).toString(8).padStart(6, '0')}\u0000 `, 148)
  return bytes
}

/** The checksum field itself counts as spaces. */
function checksumOf(bytes: Buffer): number {
  let sum = 8 * 0x20
  for (let at = 0; at < BLOCK; at++) if (at < 148 || at >= 156) sum += bytes[at]!
  return sum
}

function text(bytes: Buffer, at: number, length: number): string {
  const field = bytes.subarray(at, at + length)
  const end = field.indexOf(0)
  return field.toString('latin1', 0, end < 0 ? length : end)
}

function octal(bytes: Buffer, at: number, length: number): number {
  const digits = text(bytes, at, length).trim()
  if (!/^[0-7]*$/.test(digits)) throw new Error('a header has a field that is not a number')
  return digits === '' ? 0 : Number.parseInt(digits, 8)
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the whole range of ASCII is meant.
const isAscii = (path: string): boolean => /^[\x00-\x7f]*$/.test(path)
