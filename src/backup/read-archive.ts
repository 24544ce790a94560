import { createReadStream } from 'node:fs'
import { createGunzip } from 'node:zlib'
import type { BytePath } from './byte-path.ts'
import { BLOCK, isPaxFlag, paddingOf, parseHeader, parsePax, type TarEntry, TYPE_OF_FLAG } from './tar-headers.ts'

/** An entry with its content, which must be read before the next entry is asked for. */
export type ArchivedEntry = TarEntry & { content: AsyncIterable<Buffer> }

/** The archive is not one that `holdfast backup` wrote, or it was changed; the message continues a sentence. */
export class DamagedArchive extends Error {}

const MAX_EXTENDED_BYTES = 64 * 1024

/** Reads a compressed tar archive to its end. Nothing in it is trusted, and memory does not grow with its size. */
export async function* readArchive(file: string): AsyncGenerator<ArchivedEntry> {
  const source = createReadStream(file)
  const unpacked = createGunzip()
  // `pipe` does not pass errors on.
  source.on('error', (fault) => unpacked.destroy(fault))
  const bytes = newByteReader(source.pipe(unpacked))
  try {
    for (;;) {
      const entry = await nextEntry(bytes)
      if (!entry) break
      let isRead = entry.size === 0
      const content = (async function* () {
        yield* bytes.stream(entry.size)
        isRead = true
      })()
      yield { ...entry, content }
      if (!isRead) for await (const _ of content);
      await bytes.take(paddingOf(entry.size))
    }
    if (!(await bytes.atEnd())) throw new DamagedArchive('it continues after its end')
  } finally {
    source.destroy()
    unpacked.destroy()
  }
}

async function nextEntry(bytes: ByteReader): Promise<TarEntry | undefined> {
  let extended: Record<string, string> = {}
  for (;;) {
    const header = parse(parseHeader, await bytes.take(BLOCK))
    if (!header) {
      const second = await bytes.take(BLOCK)
      if (second.some((byte) => byte !== 0)) throw new DamagedArchive('its end is damaged')
      return undefined
    }
    if (isPaxFlag(header.flag)) {
      if (header.size > MAX_EXTENDED_BYTES) throw new DamagedArchive('a name in it is too long')
      extended = parse(parsePax, await bytes.take(header.size))
      await bytes.take(paddingOf(header.size))
      continue
    }
    const type = TYPE_OF_FLAG[header.flag]
    const path = (extended.path ?? header.path) as BytePath
    if (type === undefined) throw new DamagedArchive(`${JSON.stringify(path.slice(0, 200))} is no file, folder or link`)
    const size = extended.size === undefined ? header.size : Number(extended.size)
    if (!Number.isSafeInteger(size) || size < 0 || (type !== 'file' && size > 0))
      throw new DamagedArchive(`the size of ${JSON.stringify(path.slice(0, 200))} is impossible`)
    const { mode, modifiedAt } = header
    return { path, type, size, mode, modifiedAt, target: extended.linkpath ?? header.target }
  }
}

function parse<T>(parser: (bytes: Buffer) => T, bytes: Buffer): T {
  try {
    return parser(bytes)
  } catch (fault) {
    throw new DamagedArchive((fault as Error).message)
  }
}

/** What zlib says about a file that is cut short, changed, or not compressed at all. */
function toDamage(fault: unknown): unknown {
  const { code } = fault as NodeJS.ErrnoException
  if (code === 'Z_BUF_ERROR') return new DamagedArchive('it is cut short')
  return code?.startsWith('Z_') ? new DamagedArchive('its compressed data is damaged') : fault
}

type ByteReader = {
  /** Exactly so many bytes. */
  take(size: number): Promise<Buffer>
  stream(size: number): AsyncGenerator<Buffer>
  atEnd(): Promise<boolean>
}

function newByteReader(source: AsyncIterable<Buffer>): ByteReader {
  const iterator = source[Symbol.asyncIterator]()
  let held: Buffer = Buffer.alloc(0)

  /** Between 1 and `size` bytes; undefined at the end. */
  async function some(size: number): Promise<Buffer | undefined> {
    while (held.length === 0) {
      const next = await iterator.next().catch((fault) => {
        throw toDamage(fault)
      })
      if (next.done) return undefined
      held = next.value
    }
    const piece = held.subarray(0, size)
    held = held.subarray(piece.length)
    return piece
  }

  async function* stream(size: number): AsyncGenerator<Buffer> {
    for (let left = size; left > 0; ) {
      const piece = await some(left)
      if (!piece) throw new DamagedArchive('it is cut short')
      left -= piece.length
      yield piece
    }
  }

  return {
    stream,
    async take(size) {
      const pieces: Buffer[] = []
      for await (const piece of stream(size)) pieces.push(piece)
      return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)
    },
    atEnd: async () => (await some(1)) === undefined,
  }
}
