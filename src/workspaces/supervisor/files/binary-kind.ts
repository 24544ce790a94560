import { FileRefusal, quoted } from './file-refusal.ts'

/** First bytes of binary files, from the published formats. */
const MAGIC_BYTES: [kind: string, bytes: string][] = [
  ['a PNG image', '\x89PNG\r\n'],
  ['a JPEG image', '\xff\xd8\xff'],
  ['a GIF image', 'GIF8'],
  ['a TIFF image', 'II*\0'],
  ['a TIFF image', 'MM\0*'],
  ['a bitmap image', 'BM'],
  ['a PDF document', '%PDF-'],
  ['a ZIP archive (or an office document, or a JAR)', 'PK\x03\x04'],
  ['a gzip archive', '\x1f\x8b'],
  ['a bzip2 archive', 'BZh'],
  ['an xz archive', '\xfd7zXZ'],
  ['a zstd archive', '\x28\xb5\x2f\xfd'],
  ['a 7-Zip archive', '7z\xbc\xaf'],
  ['a Linux program or library', '\x7fELF'],
  ['a Windows program', 'MZ'],
  ['a WebAssembly module', '\0asm'],
  ['compiled Java', '\xca\xfe\xba\xbe'],
  ['an SQLite database', 'SQLite format 3\0'],
  ['an Ogg recording', 'OggS'],
  ['a FLAC recording', 'fLaC'],
  ['an MP3 recording', 'ID3'],
]

function binaryKind(start: Buffer, hasNul: boolean): string {
  const text = start.subarray(0, 300).toString('latin1')
  const known = MAGIC_BYTES.find(([, bytes]) => text.startsWith(bytes))
  if (known) return known[0]
  if (text.startsWith('RIFF')) return `a ${text.slice(8, 12).trim()} file`
  if (text.slice(4, 8) === 'ftyp') return 'a video or an image in an MP4 container'
  if (text.slice(257, 262) === 'ustar') return 'a tar archive'
  return hasNul ? 'binary data' : 'text in an encoding that is not UTF-8'
}

type BinaryFile = { start: Buffer; bytes: number; hasNul: boolean }

export function binaryRefusal(path: string, { start, bytes, hasNul }: BinaryFile): FileRefusal {
  const kind = binaryKind(start, hasNul)
  const advice = kind.startsWith('text')
    ? 'Convert it first, for example with iconv.'
    : 'Only text can be read and edited here; look at it with a program made for it.'
  return new FileRefusal('binary', `${quoted(path)} is ${kind}, ${bytes} bytes. ${advice}`)
}
