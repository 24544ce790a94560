import type { TextDecoder } from 'node:util'
import type { ReadFile } from '../../../ports/workspace-files.ts'
import { binaryRefusal } from './binary-kind.ts'
import { collectLines } from './collect-lines.ts'
import { FileRefusal, quoted } from './file-refusal.ts'
import { type OpenFile, withFile } from './open-file.ts'
import { withResolvedPath } from './resolve-path.ts'
import { detectEncoding, strictDecoder, type TextEncoding } from './text-encoding.ts'

/** Larger ones take too long to count the lines of. */
const MOST_TO_READ = 64 * 1024 * 1024
const MOST_TO_EDIT = 8 * 1024 * 1024
const PIECE = 256 * 1024
const USUAL_COUNT = 2_000

type ReadFileRequest = { path: string; from?: number; count?: number }

export function readFile(root: string, { path, from = 1, count = USUAL_COUNT }: ReadFileRequest): Promise<ReadFile> {
  return withResolvedPath({ root, path }, (resolved) =>
    withFile(resolved, path, async (file) => {
      requireSize(path, file, MOST_TO_READ)
      const lines = collectLines({ from: Math.max(1, from), count: Math.max(1, count) })
      const { bytes } = await decodePieces(path, file, lines.add)
      return lines.end(bytes)
    }),
  )
}

type WholeText = { text: string; encoding: TextEncoding }

/** All of it in memory, for whoever changes it. */
export async function readWhole(path: string, file: OpenFile): Promise<WholeText> {
  requireSize(path, file, MOST_TO_EDIT)
  const pieces: string[] = []
  const { encoding } = await decodePieces(path, file, (piece) => pieces.push(piece))
  return { text: pieces.join(''), encoding }
}

export function requireEditableSize(path: string, bytes: number): void {
  if (bytes > MOST_TO_EDIT) throw tooLarge(path, bytes, MOST_TO_EDIT)
}

function requireSize(path: string, { stats }: OpenFile, most: number): void {
  if (stats.size > most) throw tooLarge(path, Number(stats.size), most)
}

const tooLarge = (path: string, bytes: number, most: number): FileRefusal =>
  new FileRefusal(
    'too-large',
    `${quoted(path)} has ${bytes} bytes, and at most ${most} are allowed for this. Use a command of the shell instead, such as head, tail or sed.`,
  )

/** Refuses what is not text as soon as it is seen. */
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
    const text = decoded(decoder, piece)
    if (text === undefined || text.includes('\0'))
      throw binaryRefusal(path, { start, bytes: Number(stats.size), hasNul: piece.includes(0) })
    take(text)
    if (bytesRead === 0) return { bytes, encoding }
    bytes += bytesRead
    // A file may grow while it is read, for ever: what came after the beginning is for the next read.
    if (bytes > MOST_TO_READ) return { bytes, encoding }
  }
}

/** Undefined when it is no text. An empty piece is the end. */
function decoded(decoder: TextDecoder, piece: Buffer): string | undefined {
  try {
    return decoder.decode(piece, { stream: piece.length > 0 })
  } catch {
    return undefined
  }
}
