import type { TextDecoder } from 'node:util'
import type { ReadFile } from '../../../ports/workspace-files.ts'
import { binaryRefusal } from './binary-kind.ts'
import { collectLines } from './collect-lines.ts'
import { FileRefusal, quoted } from './file-refusal.ts'
import { type OpenFile, withFile } from './open-file.ts'
import { withResolvedPath } from './resolve-path.ts'
import { detectEncoding, strictDecoder, type TextEncoding } from './text-encoding.ts'

/** Counting the lines of larger files takes too long. */
const MAX_READ_BYTES = 64 * 1024 * 1024
const MAX_EDIT_BYTES = 8 * 1024 * 1024
const PIECE = 256 * 1024
const DEFAULT_LINES = 2_000

type ReadFileRequest = { path: string; from?: number; count?: number }

export function readFile(root: string, { path, from = 1, count = DEFAULT_LINES }: ReadFileRequest): Promise<ReadFile> {
  return withResolvedPath({ root, path }, (resolved) =>
    withFile(resolved, path, async (file) => {
      requireSize(path, file, MAX_READ_BYTES)
      const lines = collectLines({ from: Math.max(1, from), count: Math.max(1, count) })
      const { bytes } = await decodePieces(path, file, lines.add)
      return lines.end(bytes)
    }),
  )
}

type WholeText = { text: string; encoding: TextEncoding }

/** Reads the whole file into memory, for a change. */
export async function readWhole(path: string, file: OpenFile): Promise<WholeText> {
  requireSize(path, file, MAX_EDIT_BYTES)
  const pieces: string[] = []
  const { encoding } = await decodePieces(path, file, (piece) => pieces.push(piece))
  return { text: pieces.join(''), encoding }
}

export function requireEditableSize(path: string, bytes: number): void {
  if (bytes > MAX_EDIT_BYTES) throw tooLargeError(path, bytes, MAX_EDIT_BYTES)
}

function requireSize(path: string, { stats }: OpenFile, maxBytes: number): void {
  if (stats.size > maxBytes) throw tooLargeError(path, Number(stats.size), maxBytes)
}

const tooLargeError = (path: string, bytes: number, maxBytes: number): FileRefusal =>
  new FileRefusal(
    'too-large',
    `${quoted(path)} has ${bytes} bytes, and at most ${maxBytes} are allowed for this. Use a command of the shell instead, such as head, tail or sed.`,
  )

/** Refuses binary content as soon as it is seen. */
async function decodePieces(path: string, { handle, stats }: OpenFile, take: (text: string) => void) {
  const buffer = Buffer.allocUnsafe(Math.min(PIECE, Number(stats.size) + 1))
  let bytes = 0
  let start = Buffer.alloc(0)
  let encoding: TextEncoding = 'utf-8'
  let decoder = strictDecoder(encoding)
  for (;;) {
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, bytes)
    const piece = buffer.subarray(0, bytesRead)
    if (bytes === 0) {
      start = Buffer.from(piece.subarray(0, 8_192))
      encoding = detectEncoding(start)
      decoder = strictDecoder(encoding)
    }
    const text = tryDecode(decoder, piece)
    if (text === undefined || text.includes('\0'))
      throw binaryRefusal(path, { start, bytes: Number(stats.size), hasNul: piece.includes(0) })
    take(text)
    if (bytesRead === 0) return { bytes, encoding }
    bytes += bytesRead
    // A file may grow endlessly while it is read.
    if (bytes > MAX_READ_BYTES) return { bytes, encoding }
  }
}

/** Undefined if the bytes are not text. An empty piece ends the stream. */
function tryDecode(decoder: TextDecoder, piece: Buffer): string | undefined {
  try {
    return decoder.decode(piece, { stream: piece.length > 0 })
  } catch {
    return undefined
  }
}
